"""The neutral types, and what can be done with them: kinematics, interpolation, editing, joining."""
