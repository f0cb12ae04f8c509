"""What the ledger should make of a graph, in thirty lines of rules instead of SQL.

Each step does to plain values what one function of the ledger does to rows, with everything recounted.
A test drives both and compares.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

OPEN = ("pending", "claimed")
ENDED_BADLY = ("failed", "cancelled")


@dataclass
class TaskModel:
    name: str
    needs: frozenset[str]
    on_failure: str
    phase: int
    max_attempts: int
    status: str = "pending"
    attempts: int = 0


class GraphModel:
    """Of a job whose graph has been planned: the plan task itself is not in it."""

    def __init__(self, tasks: Iterable[TaskModel]) -> None:
        self.tasks: Mapping[str, TaskModel] = {task.name: task for task in tasks}
        self.cancelled = False

    def statuses(self) -> dict[str, str]:
        return {name: task.status for name, task in self.tasks.items()}

    def named(self, *statuses: str) -> set[str]:
        return {name for name, task in self.tasks.items() if task.status in statuses}

    def ready(self) -> set[str]:
        open_tasks = self.named(*OPEN)
        return {name for name in self.named("pending") if not self.tasks[name].needs & open_tasks}

    def job_status(self) -> str:
        if self.cancelled:
            return "cancelled"
        if self.named(*OPEN):
            return "processing"
        # The plan completed, so not everything was cancelled.
        return "failed" if self.named("failed") else "complete"

    def done_in_phase(self, phase: int) -> tuple[int, int]:
        inside = [task for task in self.tasks.values() if task.phase == phase]
        return sum(task.status == "complete" for task in inside), len(inside)

    # What workers do

    def claim(self, name: str) -> None:
        self.tasks[name].status = "claimed"
        self.tasks[name].attempts += 1

    def complete(self, names: Iterable[str]) -> None:
        for name in names:
            self.tasks[name].status = "complete"

    def release(self, names: Iterable[str]) -> None:
        """Also what snoozing does, but for the pause."""
        for name in names:
            self.tasks[name].status = "pending"
            self.tasks[name].attempts -= 1

    def fail(self, names: Iterable[str], *, permanent: bool) -> None:
        """Also what the reclaim of a silent worker's tasks does, which is never permanent by itself.

        Those that fail together spread together: what needs one of them directly fails, whatever way
        round the others it is reached as well.
        """
        failed = {}
        for name in names:
            task = self.tasks[name]
            if task.attempts < task.max_attempts and not permanent:
                task.status = "pending"
            else:
                task.status = failed[name] = "failed"
        self._spread(failed)

    # What people do

    def cancel_task(self, name: str) -> None:
        if self.tasks[name].status in OPEN:
            self.tasks[name].status = "cancelled"
            self._spread({name: "failed"})

    def cancel_job(self) -> None:
        if self.job_status() == "processing":
            self.cancelled = True
            for name in self.named(*OPEN):
                self.tasks[name].status = "cancelled"

    def retry(self, names: Iterable[str]) -> set[str]:
        """Put these back, but for those that need what stays failed; returns which."""
        again = {name for name in names if self.tasks[name].status in ENDED_BADLY}
        while stuck := {name for name in again if self.failed_needs(name) - again}:
            again -= stuck
        for name in again:
            self.tasks[name].status = "pending"
            self.tasks[name].attempts = 0
        if again:
            self.cancelled = False
        return again

    def below(self, name: str) -> set[str]:
        found = {name}
        for other in self.tasks.values():  # in their order, so what is needed comes first
            if other.needs & found:
                found.add(other.name)
        return found

    def failed_needs(self, name: str) -> set[str]:
        task = self.tasks[name]
        return set() if task.on_failure == "ignore" else set(task.needs) & self.named(*ENDED_BADLY)

    def _spread(self, ended: dict[str, str]) -> None:
        """Round by round: what needs something that ended badly ends too, unless it ignores that."""
        while ended:
            failed = {name for name, how in ended.items() if how == "failed"}
            hit = {
                task.name: "failed" if task.on_failure == "fail" and task.needs & failed else "cancelled"
                for task in self.tasks.values()
                if task.status == "pending" and task.on_failure != "ignore" and task.needs & ended.keys()
            }
            for name, how in hit.items():
                self.tasks[name].status = how
            ended = hit
