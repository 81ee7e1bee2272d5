"""The tests that every driver must pass, whatever is behind it.

Subclass `DriverContract` and give it a fixture `rig`:

    class TestCrane(DriverContract):
        @pytest.fixture
        def rig(self): return CraneRig()

suite      all of them in one class
lifecycle  tests of how drivers are made, opened and closed
limits     tests of what the actuators themselves allow
feedback   tests of what they report
torque     tests of torque as it is found
motion     tests of torque, setpoints and halts
failures   tests of what they say where something is not possible
steps      what several of them do and look at
"""

from .suite import DriverContract

__all__ = ["DriverContract"]
