"""The scheduler of a sentinel."""

from datetime import timedelta

from prometheus_client import CollectorRegistry

from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.lifecycle import Part
from shoal.runtime.settings import Settings
from shoal.schedules.leader import Leadership
from shoal.schedules.measures import SchedulerMeasures
from shoal.schedules.scheduler import Scheduler
from shoal.schedules.settings import ScheduleSettings


def schedule_parts(
    settings: Settings, *, ledger: Ledger, listener: Listener, registry: CollectorRegistry
) -> list[Part]:
    """In the order in which they start: the scheduler ends before its term is handed on."""
    own = settings[ScheduleSettings]
    leadership = Leadership(settings[LedgerSettings], lease_s=own.scheduler_lease_s)
    keep_days = own.keep_runs_days
    scheduler = Scheduler(
        ledger,
        leadership,
        listener,
        measures=SchedulerMeasures(registry),
        batch=own.scheduler_batch,
        keep_runs=None if keep_days is None else timedelta(days=keep_days),
    )
    return [leadership, scheduler]
