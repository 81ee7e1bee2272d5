"""A robot and what stands around it in MuJoCo, with a servo at each actuator.

A servo pushes by `stiffness * (goal - position) - damping * velocity`, within its limit, on the actuator's
side of its reduction: the law of `propagator`, whose inertia is here the largest one that the actuator finds
over some postures. The goal goes on at a rate of its own from step to step. MuJoCo integrates with
`implicitfast`, which is stable with stiff servos; each driven joint has a motor's inertia (`ARMATURE`) beside
that of what it moves, as no real one has less.

MuJoCo moves velocities first and positions by the new velocities. So its positions are those of half a step
later than its velocities: what falls from rest is at `a t (t + step) / 2` with the velocity `a t`. Positions
here are those at the time of the velocities, MuJoCo's less half a step at the velocity. That is the integral
of the velocity that is linear between the steps, and `a t² / 2` for what falls.

Ends of joints, joints that follow others, and dry friction are constraints of MuJoCo: they give way a little
where something pushes (docs/physics.md has the figures).
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from motiond.text import nearest

from ...base import DriverConfigError
from ..layout import STEP_S
from .contacts import Contacts
from .overlaps import find_overlaps, let_pass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from ...base import Booleans, Floats
    from .options import WorldJoint, WorldOptions

ARMATURE = 0.01
"""Inertia of a motor behind its gear, in kg·m² or kg."""
IMMOVABLE = 1e12
"""Inertia of a joint that is stuck."""
POSTURES = 32
"""So many are looked at, for the largest inertia and for what touches always."""
FREE_RAD, FREE_M = np.pi, 0.5
"""How far either way these go for joints without ends."""
HALF_STEP_S = STEP_S / 2
"""So far MuJoCo's positions are ahead of its velocities."""
FAR = 1e10
"""An end that is never met, in rad or m."""
STIFF = (0.002, 1.0)
"""Time constant, in s, and damping ratio of ends, followers and dry friction: `solref` of MuJoCo."""
HARD = (0.999, 0.9999, 0.001, 0.5, 2.0)
"""How little they give way: `solimp` of MuJoCo."""


class Follower(NamedTuple):
    """A joint that follows another one, or is held where `leader` is -1.

    `polynomial` (5,): its way from its zero by that of its leader, the lowest power first.
    """

    joint: int
    leader: int
    polynomial: Floats


def load_mujoco(where: str) -> Any:
    """Return the library. Raises DriverConfigError if it is not installed."""
    try:
        mujoco = import_module("mujoco")
    except ImportError as error:
        problem, hint = "`physics` needs MuJoCo", "pip install 'motiond[physics]'"
        raise DriverConfigError(where, problem, str(error), hint) from error
    mujoco.set_mju_user_warning(_drop)  # else each goes to a file where the process stands
    return mujoco


def _drop(_message: str) -> None:
    """Drop a warning of MuJoCo: `World.failure` has it as well."""


class World:
    """A robot in MuJoCo; arrays are on the actuators' side, in the order of `actuators`.

    `gravity`: its acceleration, in m/s². `model`, `data`: MuJoCo's own. `lower`, `upper`, `effort_limit`
    (actuators,): ends and greatest efforts of the description, infinite where it has none. `is_damped`
    (actuators,): whether it has friction by velocity. `inertia` (actuators,): the largest one that each
    actuator finds, in kg·m² or kg. `contacts`: what touches. `untouched`: names of what does not touch
    here, in pairs, as it overlaps in nearly every posture. `control`, `control_rate` (actuators,): goals of
    servos or efforts of motors, and how fast these change as time passes.

    Raises DriverConfigError if MuJoCo is not installed, cannot read the world, or finds no such joint in it.
    """

    def __init__(
        self, where: str, options: WorldOptions, actuators: Sequence[str], gravity: Sequence[float]
    ) -> None:
        self._mujoco = load_mujoco(where)
        self._step = self._mujoco.mj_step
        of_actuator = {joint.actuator: joint for joint in options.joints}
        joints = [of_actuator[name] for name in actuators]
        self._reduction = np.array([joint.reduction for joint in joints])
        self._offset = np.array([joint.offset for joint in joints])
        self._servo_damping, self._least_effort, self._most_effort = np.zeros((3, len(joints)))
        self._part, self._is_spent = np.empty(len(joints)), np.zeros(len(joints), bool)
        self._none_spent = self._is_spent.tobytes()
        spec = self._specified(where, options.mjcf, joints)
        spec.option.gravity = gravity
        with self._readable(where):
            self._load(spec, joints)
            overlaps = find_overlaps(
                self.model, self.data, self._postures(), self._joints, self._moved_by_nothing()
            )
            self.untouched = [one.names(self.model) for one in overlaps]
            if overlaps:
                let_pass(spec, self.model, overlaps)
                self._load(spec, joints)
            self.inertia = self._largest_inertia()
        self.contacts = Contacts(self._mujoco, self.model, self.data)

    def _specified(self, where: str, mjcf: str, joints: Sequence[WorldJoint]) -> Any:
        """Return MuJoCo's specification of the world, with a motor at each joint."""
        mujoco = self._mujoco
        with self._readable(where):
            spec = mujoco.MjSpec.from_string(mjcf)
        own = {joint.name: joint for joint in spec.joints}
        for joint in joints:
            self._refuse_unfit(where, own.get(joint.joint), joint, own)
            own[joint.joint].armature = max(own[joint.joint].armature, ARMATURE)
            servo = spec.add_actuator(target=joint.joint)
            servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
            servo.gaintype, servo.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
            servo.dyntype = mujoco.mjtDyn.mjDYN_INTEGRATOR  # of velocities of goals
            servo.gear[0] = joint.reduction
        spec.option.timestep = STEP_S
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        return spec

    @contextmanager
    def _readable(self, where: str) -> Iterator[None]:
        """Let what MuJoCo cannot read, or has no memory for, be an error of the configuration."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns of options of a scene, which do not count
                yield
        except (ValueError, self._mujoco.FatalError) as error:
            problem, hint = "MuJoCo cannot have the world", "correct the description or the scene"
            raise DriverConfigError(where, problem, " ".join(str(error).split()), hint) from error

    def _load(self, spec: Any, joints: Sequence[WorldJoint]) -> None:
        self.model = spec.compile()
        self.data = self._mujoco.MjData(self.model)
        self._bind([self.model.joint(joint.joint).id for joint in joints])

    def _refuse_unfit(self, where: str, joint: Any, named: WorldJoint, known: Collection[str]) -> None:
        """Refuse a joint of the world that is not there, or that no motor moves."""
        types = self._mujoco.mjtJoint
        if joint is None:
            problem = f"the world has no joint '{named.joint}' for actuator '{named.actuator}'"
            hint = nearest(named.joint, known)
            raise DriverConfigError(where, problem, f"it has {', '.join(known) or 'none'}", hint)
        if joint.type not in {types.mjJNT_HINGE, types.mjJNT_SLIDE}:
            problem = f"joint '{named.joint}' of the world is no hinge and no slide"
            raise DriverConfigError(where, problem, f"actuator '{named.actuator}' moves it", "name another")

    def _bind(self, joints: list[int]) -> None:
        """Find out where the numbers of the actuators' joints are, and take views of what changes."""
        model, data = self.model, self.data
        self._joints = np.array(joints)
        self._at, self._dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        self._warnings, self._fatal = data.warning, ""
        self._positions: Floats = data.qpos
        self._velocities: Floats = data.qvel
        self._motors = slice(model.nu - len(joints), model.nu)  # after those that the world has itself
        goals = int(model.actuator_actadr[self._motors.start])
        self.control: Floats = data.act[goals : goals + len(joints)]
        self.control_rate: Floats = data.ctrl[self._motors]
        self._force: Floats = data.actuator_force[self._motors]
        self._velocity_before: Floats = data.actuator_velocity[self._motors]
        self._damping, self._friction, self._armature = (
            values[self._dofs].copy()
            for values in (model.dof_damping, model.dof_frictionloss, model.dof_armature)
        )
        self.is_damped: Booleans = self._damping > 0.0
        self._followers = self._find_followers()
        self._take_limits()
        self._weigh_joints()

    def _find_followers(self) -> tuple[Follower, ...]:
        """Return what equalities let follow the actuators' joints, each after its leader, or hold."""
        model, driven = self.model, set(self._joints.tolist())
        rules = {}
        for row in np.flatnonzero(model.eq_type == self._mujoco.mjtEq.mjEQ_JOINT).tolist():
            joint, leader = int(model.eq_obj1id[row]), int(model.eq_obj2id[row])
            if joint in driven and leader >= 0:  # two motors keep in step by themselves
                model.eq_active0[row] = False
            else:
                rules[joint] = row, Follower(joint, leader, model.eq_data[row, :5].copy())
        found: list[Follower] = []
        known = {-1, *driven}
        while ready := [joint for joint, (_, follower) in rules.items() if follower.leader in known]:
            for row, follower in map(rules.pop, ready):
                model.eq_solref[row], model.eq_solimp[row] = STIFF, HARD
                found.append(follower)
                known.add(follower.joint)
        return tuple(found)

    def _take_limits(self) -> None:
        model, joints = self.model, self._joints
        ends = np.where(model.jnt_limited[joints], model.jnt_range[joints].T, [[-np.inf], [np.inf]])
        self.lower, self.upper = np.sort((ends - self._offset) * self._reduction, axis=0)
        most = np.where(model.jnt_actfrclimited[joints], model.jnt_actfrcrange[joints, 1], np.inf)
        self.effort_limit: Floats = most / np.abs(self._reduction)
        model.jnt_actfrclimited[joints] = False  # the motors keep to it, so that it is seen in their efforts
        model.jnt_limited[[follower.joint for follower in self._followers]] = False  # as their leaders have
        model.jnt_limited[joints] = True
        model.jnt_solref[joints], model.jnt_solimp[joints] = STIFF, HARD
        model.dof_solref[self._dofs], model.dof_solimp[self._dofs] = STIFF, HARD  # of dry friction
        self.set_ends(self.lower, self.upper)

    def _weigh_joints(self) -> None:
        """Prepare for `carried`: which joints carry what, and how that is shared among the actuators."""
        model = self.model
        led = [follower.joint for follower in self._followers if follower.leader >= 0]
        self._weighed = joints = np.array([*self._joints, *led])
        self._bodies = model.jnt_bodyid[joints]
        self._masses = model.body_subtreemass[self._bodies]
        self._slides = model.jnt_type[joints] == self._mujoco.mjtJoint.mjJNT_SLIDE
        self._ways = self._ways_of_actuators()
        self._shares = -self._ways[model.jnt_dofadr[joints]].T.copy()
        fall = model.opt.gravity.copy()
        self._fall, self._fall_across = fall, np.cross(np.eye(3), fall)

    def _ways_of_actuators(self) -> Floats:
        """Return how far each degree of freedom goes with each actuator: (degrees, actuators)."""
        dofs = self.model.jnt_dofadr
        ways = np.zeros((self.model.nv, len(self._joints)))
        ways[self._dofs, np.arange(len(self._joints))] = 1.0 / self._reduction
        for joint, leader, polynomial in self._followers:
            if leader >= 0:
                ways[dofs[joint]] = polynomial[1] * ways[dofs[leader]]
        return ways

    def _postures(self) -> Iterator[None]:
        """Go through postures within the ends, the same ones each time."""
        slides = self._slides[: len(self._joints)]
        free = np.where(slides, FREE_M, FREE_RAD) * np.abs(self._reduction)
        lower = np.where(np.isfinite(self.lower), self.lower, -free)
        upper = np.where(np.isfinite(self.upper), self.upper, free)
        random = np.random.default_rng(0)
        for _ in range(POSTURES):
            self.begin(random.uniform(lower, np.maximum(lower, upper)))
            yield

    def _moved_by_nothing(self) -> set[int]:
        """Return the bodies that have a freedom which no actuator moves, such as what lies about."""
        model = self.model
        loose = set(model.dof_bodyid[~self._ways.any(axis=1)].tolist())
        for body in range(1, model.nbody):
            if int(model.body_parentid[body]) in loose:
                loose.add(body)
        return loose

    def _largest_inertia(self) -> Floats:
        """Return the largest inertia at each actuator over postures: (actuators,)."""
        inertia, largest = np.empty((self.model.nv, self.model.nv)), np.zeros(len(self._joints))
        for _ in self._postures():
            self._mujoco.mj_fullM(self.model, self.data, inertia)
            found = np.einsum("ia,ij,ja->a", self._ways, inertia, self._ways)
            np.maximum(largest, found, largest)
        return largest

    def begin(self, position: Floats) -> None:
        """Put everything where it begins, at rest, and the actuators at positions (actuators,)."""
        self._mujoco.mj_resetData(self.model, self.data)
        self._fatal = ""
        self.place(np.arange(len(self._joints)), position, np.zeros_like(position))
        self._mujoco.mj_forward(self.model, self.data)

    def place(self, which: NDArray[np.intp], position: Floats, velocity: Floats) -> None:
        """Put some actuators elsewhere at once, and what follows them; `position`, `velocity`: of these."""
        reduction = self._reduction[which]
        ahead = position + velocity * HALF_STEP_S
        self._positions[self._at[which]] = ahead / reduction + self._offset[which]
        self._velocities[self._dofs[which]] = velocity / reduction
        at, dofs, zero = self.model.jnt_qposadr, self.model.jnt_dofadr, self.model.qpos0
        for joint, leader, polynomial in self._followers:
            way = self._positions[at[leader]] - zero[at[leader]] if leader >= 0 else 0.0
            self._positions[at[joint]] = zero[at[joint]] + polynomial @ way ** np.arange(5)
            if leader >= 0:
                self._velocities[dofs[joint]] = polynomial[1] * self._velocities[dofs[leader]]

    def step(self, steps: int) -> None:
        """Let so many steps of the grid pass."""
        try:
            if not self.contacts.is_watching:
                self._step(self.model, self.data, steps)
                return
            for _ in range(steps):
                self._step(self.model, self.data)
                self.contacts.look()
        except self._mujoco.FatalError as error:
            self._fatal = str(error)

    @property
    def failure(self) -> str:
        """Why what has been computed since the beginning cannot be relied on; '' if it can."""
        if not self._fatal and not self._warnings.number.any():
            return ""
        kinds = self._mujoco.mjtWarning
        full = (self._warnings[kind].number for kind in (kinds.mjWARN_CONTACTFULL, kinds.mjWARN_CNSTRFULL))
        if any(full):
            return "more touches than there is memory for"
        return self._fatal or "something in it moves too fast to be computed"

    def read(self, position: Floats, velocity: Floats, effort: Floats) -> None:
        """Fill in positions, velocities, and the motors' efforts in the last step: (actuators,) each.

        MuJoCo's efforts are damped by the velocities before a step, but what it lets act is damped by those
        after it, where a motor is not at its limit.
        """
        self._positions.take(self._at, out=position, mode="clip")
        np.subtract(position, self._offset, position)
        np.multiply(position, self._reduction, position)
        self._velocities.take(self._dofs, out=velocity, mode="clip")
        np.multiply(velocity, self._reduction, velocity)
        np.subtract(self._velocity_before, velocity, effort)
        np.multiply(effort, self._servo_damping, effort)
        np.add(effort, self._force, effort)
        np.abs(self._force, self._part)
        np.greater_equal(self._part, self._most_effort, self._is_spent)
        if self._is_spent.tobytes() != self._none_spent:
            np.copyto(effort, self._force, where=self._is_spent)
        np.minimum(effort, self._most_effort, effort)
        np.maximum(effort, self._least_effort, effort)
        np.multiply(velocity, HALF_STEP_S, self._part)
        np.subtract(position, self._part, position)

    def carried(self) -> Floats:
        """Return the efforts that carry the weight of what the joints carry: (actuators,)."""
        data = self.data
        arms = data.subtree_com[self._bodies] - data.xanchor[self._weighed]
        turned = np.where(self._slides[:, np.newaxis], self._fall, arms @ self._fall_across)
        weights = np.einsum("ij,ij->i", data.xaxis[self._weighed], turned) * self._masses
        efforts: Floats = self._shares @ weights
        return efforts

    def set_servos(self, stiffness: Floats, damping: Floats, most_effort: Floats) -> None:
        """Let each control be a servo's goal; all (actuators,), 0 for actuators without torque."""
        self._set_law(stiffness, np.array([stiffness * self._offset * self._reduction, -stiffness, -damping]))
        self._limit(most_effort)

    def set_motors(self, most_effort: Floats) -> None:
        """Let each control be a motor's effort, at most this: (actuators,)."""
        self._set_law(np.ones_like(most_effort), np.zeros((3, len(most_effort))))
        self._limit(most_effort)

    def _set_law(self, gain: Floats, bias: Floats) -> None:
        """Set the effort: gain times control, and a bias by nothing, length and velocity (3, actuators)."""
        self._servo_damping = -bias[2]
        self.model.actuator_gainprm[self._motors, 0] = gain
        self.model.actuator_biasprm[self._motors, :3] = bias.T

    def _limit(self, most_effort: Floats) -> None:
        self._least_effort, self._most_effort = -most_effort, most_effort
        limited = np.isfinite(most_effort)
        self.model.actuator_forcelimited[self._motors] = limited
        most = np.where(limited, most_effort, 0.0)
        self.model.actuator_forcerange[self._motors] = np.transpose([-most, most])

    def set_joints(self, viscous: Floats, coulomb: Floats, stuck: Booleans) -> None:
        """Set what acts on the joints beside those of the description: friction, and which do not move."""
        model, dofs = self.model, self._dofs
        model.dof_damping[dofs] = self._damping + viscous * np.square(self._reduction)
        model.dof_frictionloss[dofs] = self._friction + coulomb * np.abs(self._reduction)
        model.dof_armature[dofs] = np.where(stuck, IMMOVABLE, self._armature)

    def set_ends(self, lower: Floats, upper: Floats) -> None:
        """Set between which positions (actuators,) the joints can move; infinite where there is no end."""
        ends = np.clip([lower, upper], -FAR, FAR) / self._reduction + self._offset
        self.model.jnt_range[self._joints] = np.sort(ends, axis=0).T

    def push(self, effort: Floats) -> None:
        """Let efforts (actuators,) act on the joints from outside, until others do."""
        self.data.qfrc_applied[self._dofs] = effort * self._reduction
