"""The neutral types that every reader makes, and what can be done with them; no module knows a file format.

- `robot`: a robot; `structure`: the links, joints and frames that it consists of
- `shapes`: what links look like; `outline`: shapes derived where a file describes none
- `kinematics`: where these are for given positions
- `motion`: joint positions over time; `interpolation`: how they are sampled between rows
- `editing`: new motions of one motion; `joining`: one motion of several
- `poses`: 4x4 matrices
"""
