import pytest

pytest.register_assert_rewrite("drivers.testing.contract")
