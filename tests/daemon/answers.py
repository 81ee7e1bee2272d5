"""What a robot reports and answers, for tests in which something stands in for it."""

from __future__ import annotations

from typing import Any

from motiond.daemon.api import RequestProblem

NO_LIMITS = dict.fromkeys(("acceleration", "effort", "continuous_effort"))
LIMITS = {"lower": -1.0, "upper": 1.0, "velocity": 2.0, **NO_LIMITS}
DESCRIPTION: dict[str, Any] = {
    "joints": [{"name": "elbow", "unit": "rad", "continuous": False, **LIMITS, "limited_by": {}}],
    "actuators": ["elbow"],
    "model": None,
    "driver": "sim",
    "poses": {},
    "groups": [],
    "tolerances": {"path": {"elbow": None}, "goal": {"elbow": 0.1}},
    "hottest_c": None,
    "upload": False,
    "motion_suffixes": [".seq"],
    "formats": {},
    "rates": {"idle_hz": 100.0, "max_hz": None},
    "version": "0.1.0",
}
MOTIONS: dict[str, Any] = {
    "motions": [
        {
            "name": "wave",
            "file": "wave.seq",
            "ok": True,
            "duration": 1.0,
            "frame_rate": 100.0,
            "frames": 101,
            "joints": ["elbow"],
            "holds": [],
            "markers": [],
            "warnings": [],
            "max_speed": 1.0,
        }
    ]
}

BODIES = {
    "play": b'{"motion":"wave"}',
    "sequence": b'{"steps":[{"motion":"wave"}]}',
    "goto": b'{"pose":"up"}',
    "speed": b'{"speed":1.0}',
    "torque": b'{"on":true}',
    "seek": b'{"frame":1}',
    "servo/reboot": b'{"servos":["elbow"]}',
    "servo/clear": b'{"servos":["elbow"]}',
    "fault": b'{"fault":"stuck"}',
    "queue/remove": b'{"goal_id":"g1"}',
    "queue/move": b'{"goal_id":"g1","place":1}',
    "fleet/prepare": b'{"motion":"wave","start":"s1"}',
    "fleet/commit": b'{"start":"s1","token":"t","robots":["arm"],"start_at":2e9}',
    "fleet/release": b'{"start":"s1","token":"t"}',
    "motions/delete": b'{"motion":"wave"}',
    "recordings/keep": b'{"name":"arm_20261126T191534Z_wave","keep":true}',
    "recordings/delete": b'{"name":"arm_20261126T191534Z_wave"}',
    "follow/target": b'{"goal_id":"g1","positions":[0.1]}',
    "follow/chunk": b'{"goal_id":"g1","positions":[[0.1]],"period_s":0.1}',
    "follow/keep_alive": b'{"goal_id":"g1"}',
    "gamepad/save": b'{"mapping":{"dead_man":4,"dead_zone":0.1,"curve":1.0,"joints":{},"directions":{}}}',
    "teach/save": b'{"name":"wave"}',
    "lease/acquire": b'{"holder":"Anna"}',
    "lease/take": b'{"holder":"Anna"}',
}
"""What each verb asks for, where it has to ask for something."""


def state(now: str = "idle", **more: Any) -> dict[str, Any]:
    """Give a robot's state, without a goal."""
    return {
        "state": now,
        "torque": True,
        "loose": [],
        "estop_latched": False,
        "message": "",
        "failed": [],
        "displaced": None,
        "motion": None,
        "goal_id": None,
        "queued": 0,
        "goals": [],
        "sequence": 1,
        "stamp_utc": "2026-11-22T12:00:00.000Z",
        **more,
    }


def status() -> dict[str, Any]:
    """Give what a robot without a goal does now, as it is asked for."""
    return {key: value for key, value in state().items() if key not in {"sequence", "stamp_utc"}}


def result(goal_id: str, code: str = "SUCCESSFUL") -> dict[str, Any]:
    """Give the result of a goal that had not begun."""
    return {
        "goal_id": goal_id,
        "motion": "wave",
        "code": code,
        "message": "",
        "transaction": None,
        "asked_by": None,
        "played_s": None,
        "details": {},
        "warnings": [],
        "beside": False,
        "timing": None,
        "worst_error": None,
        "peak_effort": None,
        "recording": None,
        "follows": None,
        "sequence": 1,
        "stamp_utc": "2026-11-22T12:00:00.000Z",
    }


def event(message: str) -> dict[str, Any]:
    """Give an event."""
    return {"kind": "driver", "message": message}


def telemetry(position: Any, frame: float = 0.0) -> dict[str, Any]:
    """Give a sample of joints at a position."""
    known = {"position": position, "velocity": position, "effort": position}
    return {"stamp_s": 1.0, "frame": frame, "reference": known, "feedback": known, "error": known}


ANSWERS: dict[str, dict[str, Any]] = {
    "enable": {"state": "idle", "torque": True},
    "disable": {"state": "idle", "torque": False},
    "torque": {"state": "idle", "torque": True},
    "pause": {"state": "paused", "goal_id": "g1"},
    "resume": {"state": "playing", "goal_id": "g1"},
    "seek": {"state": "playing", "goal_id": "g1"},
    "speed": {"speed": 1.0, "goal_id": "g1"},
    "follow/target": {"goal_id": "g1"},
    "follow/chunk": {"goal_id": "g1"},
    "follow/keep_alive": {"goal_id": "g1"},
    "follow/stop": {"state": "stopping", "goal_id": "g1", "stops_within_s": 0.1},
    "queue": {"queue": []},
    "queue/remove": {"queue": []},
    "queue/move": {"queue": []},
    "queue/clear": {"cleared": []},
    "stop": {
        "state": "idle",
        "goal_id": None,
        "stops_within_s": 0.0,
        "ended_teaching": False,
        "holds": True,
        "reached": True,
        "message": "",
    },
    "estop": {"state": "estopped", "latched": True, "reached": True, "message": ""},
    "reset": {"state": "idle"},
    "servo/reboot": {"actuators": ["elbow"], "state": "idle", "message": ""},
    "servo/clear": {"actuators": ["elbow"], "state": "idle", "message": ""},
    "fault": {"fault": {"size": float("nan")}},
    "status": status(),
    "fleet/prepare": {
        "start": "s1",
        "token": "t",
        "ready_in_s": 1.0,
        "duration_s": 1.0,
        "expires_at": 1.0,
    },
    "fleet/commit": {"start": "s1", "start_at": 1.0},
    "fleet/release": {"start": "s1"},
    "motions/delete": {"deleted": []},
    "motions/reload": MOTIONS,
}
"""What a robot answers to each verb that begins nothing."""


def whole(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the parts of its message, which have to make up that."""
    if answer.get("problems"):
        parts = [RequestProblem(**problem) for problem in answer.pop("problems")]
        assert answer["error"] == "\n".join(map(str, parts))
    return answer
