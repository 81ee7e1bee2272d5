import pytest

pytest.register_assert_rewrite("motiond.drivers.testing.contract")
