"""The robot's joints, and the actuators that move them.

- `joint_map`: the columns of every array, with limits and mimic joints
- `joint_bounds`: tolerances and bounds of approaches, by the unit and the range of each joint
- `beyond`: what lies far outside a joint's limits, and how slowly it comes back
- `transmission`: between joints and actuators
- `gravity`: the weight of a simulated robot, from its description
- `stops`: the stops of simulated joints, from their limits
"""
