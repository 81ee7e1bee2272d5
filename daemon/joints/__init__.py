"""The robot's joints, and the actuators that move them."""
