"""HEBI modules, by the vendor's library hebi-py.

driver    the driver: opening, torque, and what it refuses
options   its options
setup     merges them with HEBI's own robot configuration
config    reads that configuration
plugins   its arm plugins: which are applied
describe  what it tells of the robot: model, joints, home
lookup    finds modules on the network; what the driver uses of hebi-py
gains     controller gains: sent and read back
sender    sends setpoints, but none to modules that must stay loose
listener  receives feedback, and finds silent modules
feedback  a group's feedback as arrays
flags     m-stop, heat, position limits, and who commands the modules
turns     whether modules count the right turn
stored_limits  what the modules allow by limits that they have stored
mirror    joints that two modules move
effort_setup  what is fed forward, by options and plugins
feed_forward  efforts that are added to commanded ones
gravity   efforts that carry the arm
"""
