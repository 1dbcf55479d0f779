"""Child processes that are started together, kept alive, and ended in the order that loses nothing.

Each child belongs to a `Stage`, and stages end one after the other: workers finish their visits while the proxies
still record, proxies drain while the indexer still reads, and Redis goes last. Every child leads its own process
group, so Ctrl-C at the terminal reaches the parent only. When the parent itself is killed, the lifelines made here
end the children in the same order (`admin.child`).
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from admin.process import Abandoned, Child, Lifeline, Role, Stage, StartError, how_it_ended

log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 10.0
STEADY_SECONDS: Final = 60.0
"""A child that lived this long is forgiven its earlier deaths."""
MAX_DEATHS: Final = 6
"""So many deaths in a row, none of them after a steady life, and the supervisor gives up."""
HURRIED_SECONDS: Final = 2.0
"""From SIGTERM to SIGKILL when there is no time."""


class GaveUp(Exception):
    """A child died again and again; the message names it, its last words and its log."""


@dataclass(slots=True)
class Post:
    """A role and the child that fills it now, one after the other."""

    role: Role
    child: Child
    deaths: int = 0
    """In a row, without a steady life between."""
    restarts: int = 0
    due: float | None = None
    """When the next child starts (monotonic seconds); None while there is one."""
    finished: bool = False
    """Nobody fills it any more, and nobody will."""

    @property
    def is_filled(self) -> bool:
        """Whether there is a process at this moment."""
        return not self.finished and self.due is None


class Supervisor:
    """Starts children, restarts the dead, ends all. Single-threaded: call `tick` a few times a second.

    `on_restart` is called with one line about every death that is answered by a restart.
    """

    def __init__(self, logs: Path, environment: Mapping[str, str], on_restart: Callable[[str], None]) -> None:
        self.posts: list[Post] = []
        self.failures: list[str] = []
        """Of the children that keep things, were asked to end, and did not end well: what they said."""
        self._retired: dict[Child, float] = {}
        """Those that were replaced and have not ended yet, and until when (monotonic seconds) they may take."""
        self._logs = logs
        self._environment = environment
        self._on_restart = on_restart
        self._lifelines = {stage: os.pipe() for stage in Stage}

    def start(self, role: Role) -> Post:
        """Start one child; it is not ready yet (see `wait_ready`). Raises StartError."""
        post = Post(role, self._spawn(role))
        self.posts.append(post)
        return post

    def replace(self, post: Post, role: Role, within: float, abandon: Callable[[], bool] = lambda: False) -> None:
        """Fill the post with another child; the one that fills it now goes on until the new one is ready, then retires.

        Raises StartError when the new one can't serve, and Abandoned: the old one stays. Looks after the others.
        """
        if not post.is_filled:
            post.role = role
            self._restart(post)
            self._await(post.child, within, abandon)
            return
        old, new = post.child, self._spawn(role, post.child)
        try:
            self._await(new, within, lambda: self._look_after(post) or abandon())
        except BaseException:
            new.bury()
            if old.has_retired:  # the new one died with all it had got
                self._retire(old)
                post.due = time.monotonic()
            raise
        post.role, post.child, post.deaths = role, new, 0
        self._retire(old)

    def wait_ready(self, posts: Sequence[Post], within: float, abandon: Callable[[], bool] = lambda: False) -> None:
        """Return when each child has said that it is ready.

        Raises StartError with the child's own message, with the last line of its log when it just ended, or when
        `within` seconds have passed; Abandoned as soon as `abandon` says True.
        """
        began = time.monotonic()
        for post in posts:
            self._await(post.child, within - (time.monotonic() - began), abandon)

    def tick(self) -> None:
        """Look after everybody once: note deaths, start again what is due. Never blocks for long.

        Raises GaveUp when a child keeps dying, StartError when one says that it can't serve here.
        """
        self._look_after(None)

    def remaining(self, stage: Stage) -> list[Post]:
        """The posts of a stage that are filled, or will be again."""
        return [post for post in self.posts if post.role.stage == stage and not post.finished]

    def stop_stage(self, stage: Stage, hurry: Callable[[], bool] = lambda: False) -> int:
        """End this stage's children; return when all are gone and reaped. How many had to be killed.

        `hurry` is asked while waiting; from when it says True, each has only two seconds from its SIGTERM on.
        """
        posts = self.remaining(stage)
        leaving = [post.child for post in posts if post.is_filled]
        leaving += [child for child in self._retired if child.role.stage == stage]
        for child in leaving:
            child.terminate()
        began, pause = time.monotonic(), threading.Event()
        while any(child.exit_code is None for child in leaving):
            waited, in_haste = time.monotonic() - began, hurry()
            for child in leaving:
                if waited > (HURRIED_SECONDS if in_haste else child.role.stop_seconds) and child.exit_code is None:
                    log.warning("%s did not end within %.0f s and is killed", child.role.name, waited)
                    child.kill()
            pause.wait(0.02)
        for child in leaving:
            child.bury()
        for post in posts:
            post.finished, post.due = True, None
        self._retired = {child: until for child, until in self._retired.items() if child not in leaving}
        if stage > Stage.WORKERS:
            self.failures += [child.last_words() for child in leaving if child.exit_code]
        return sum((child.exit_code or 0) < 0 for child in leaving)

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> int:
        """End everybody, stage by stage, and let go of the lifelines. How many had to be killed; may be repeated."""
        killed = sum(self.stop_stage(stage, hurry) for stage in Stage)
        for pair in self._lifelines.values():
            for fd in pair:
                os.close(fd)
        self._lifelines = {}
        return killed

    def _spawn(self, role: Role, predecessor: Child | None = None) -> Child:
        held = tuple(self._lifelines[stage][1] for stage in Stage if stage > role.stage)
        lifeline = Lifeline(self._lifelines[role.stage][0], held)
        return Child(role, lifeline, self._environment, self._logs, predecessor)

    def _await(self, child: Child, within: float, abandon: Callable[[], bool]) -> None:
        deadline = time.monotonic() + within
        while not child.is_ready:
            if complaint := child.complaint:
                raise StartError(complaint)
            if time.monotonic() > deadline:
                raise StartError(f"{child.role.name} was not ready after {within:.0f} s; see {child.log_file}")
            if abandon():
                raise Abandoned
            child.await_word(0.2)

    def _look_after(self, but: Post | None) -> bool:
        """One look at everybody but the post that is being replaced; always False."""
        for post in self.posts:
            if post is but:
                continue
            if post.is_filled:
                self._note_end(post)
            elif post.due is not None and time.monotonic() >= post.due:
                self._restart(post)
        for child, until in list(self._retired.items()):
            self._look_after_retired(child, until)
        return False

    def _look_after_retired(self, child: Child, until: float) -> None:
        if child.exit_code is not None:
            del self._retired[child]
            child.bury()
            if child.exit_code:
                log.warning("the retired %s %s", child.role.name, child.last_words())
                self._prepare(child.role)
        elif time.monotonic() > until:
            log.warning("the retired %s does not end and is killed", child.role.name)
            child.kill()

    def _retire(self, child: Child) -> None:
        """Let it end by itself; one that handed nothing over is asked to, and given its time."""
        child.unlink()
        self._retired[child] = math.inf
        if not child.has_retired:
            child.terminate()
            self._retired[child] = time.monotonic() + child.role.stop_seconds

    @staticmethod
    def _prepare(role: Role) -> None:
        if role.before_restart:
            role.before_restart()

    def _note_end(self, post: Post) -> None:
        code = post.child.exit_code
        if code is None:
            return
        last_words = post.child.last_words() if post.child.complaint else how_it_ended(code)
        post.child.bury()
        if post.role.ends_by_itself and code == 0:
            post.finished = True
            return
        if post.child.refusal:
            post.finished = True
            raise StartError(post.child.refusal)
        steady = time.monotonic() - post.child.started > STEADY_SECONDS
        post.deaths = 1 if steady else post.deaths + 1
        if post.deaths >= MAX_DEATHS:
            post.finished = True
            raise GaveUp(f"{post.role.name} died {post.deaths} times in a row; {last_words}")
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (post.deaths - 1), LONGEST_PAUSE_SECONDS)
        post.due = time.monotonic() + pause
        log.warning("%s %s; it starts again in %.1f s", post.role.name, last_words, pause)
        self._on_restart(f"{post.role.name} {how_it_ended(code)} and starts again")

    def _restart(self, post: Post) -> None:
        self._prepare(post.role)
        post.child, post.due = self._spawn(post.role), None
        post.restarts += 1
