"""The real scripts on a real server do what the reference model does, whatever happens in which order."""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from shoal.local.valkey import EmbeddedValkey

from .machine import FleetMachine, profile


@pytest.mark.timeout(400)
def test_whatever_happens_the_brain_does_what_the_model_does(valkey_server: EmbeddedValkey) -> None:
    class Machine(FleetMachine):
        url = valkey_server.url

    run_state_machine_as_test(Machine, settings=profile())
