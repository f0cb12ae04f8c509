"""A fleet of a few nodes on a real brain."""

import pytest
from redis.asyncio import Redis

from shoal.brain.connection import Brain
from shoal.fleet.brain import FleetBrain

from .world import World


@pytest.fixture
def client(brain: Brain) -> Redis:
    return brain.client


@pytest.fixture
def fleet(client: Redis) -> FleetBrain:
    return FleetBrain(client)


@pytest.fixture
def world(fleet: FleetBrain, client: Redis) -> World:
    return World(fleet, client)
