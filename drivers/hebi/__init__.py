"""HEBI modules, by the vendor's library hebi-py.

driver    the driver: opening, setpoints, torque
setup     its options, merged with HEBI's own robot configuration
config    reads that configuration
lookup    finds modules on the network; what the driver uses of hebi-py
gains     controller gains: sent and read back
listener  receives feedback, and finds silent modules
feedback  a group's feedback as arrays
flags     m-stop, heat, position limits, and who commands the modules
turns     whether modules count the right turn
gravity   efforts that carry the arm
"""
