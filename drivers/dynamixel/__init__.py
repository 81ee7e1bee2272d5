"""DYNAMIXEL servos on a serial bus, Protocol 2.0.

driver    the driver: opening, setpoints, torque
options   its options
setup     finds servos, checks and sets them before torque, and restarts those that have shut down
feedback  what servos report, and which of them are silent, failed or loose
limits    positions that servos accept and joints can be at
capacity  how long a tick takes on a bus
chain     servos of one series on one bus, addressed together, and the layout of their feedback
bus       servos on a port: frames out, answers in, waited for until a time
protocol  packets as bytes
models    control tables and units of each model, and hardware errors; the tables are in `tables/`
units     between registers and SI units
scanning  looks for servos on a port
emulator  emulated servos
"""

from .bus import import_serial
from .capacity import feedback_exchange
from .driver import DynamixelDriver
from .models import models_by_name
from .options import HIGHEST_BAUD_RATE, LOWEST_BAUD_RATE, DynamixelOptions
from .protocol import HIGHEST_ID
from .scanning import COMMON_BAUD_RATES, Scanned, reboot, scan

__all__ = [
    "COMMON_BAUD_RATES",
    "HIGHEST_BAUD_RATE",
    "HIGHEST_ID",
    "LOWEST_BAUD_RATE",
    "DynamixelDriver",
    "DynamixelOptions",
    "Scanned",
    "feedback_exchange",
    "import_serial",
    "models_by_name",
    "reboot",
    "scan",
]
