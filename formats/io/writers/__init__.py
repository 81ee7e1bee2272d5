"""What writers share.

- `digits`: rounding to significant digits
- `losses`: refusal of what a format cannot hold
- `output`: files that are replaced whole or not at all
- `motion_writing`, `robot_writing`: what motions, and robots, are refused for in every format
"""
