"""Twenty deployments due every second for more than a minute, a slow receiver, and a host that is killed and started
again at twenty moments: ten while a call is open, ten at a named crash point between two steps."""
import random
import threading
import time

import belfry

DEPLOYMENTS = 20
KILLS = 20
SECONDS = 90
BEAT = 0.25
# Before a call, between a call's answer and its record, and on both sides of each commit. With how many
# passes come before the kill, so that a life has first been long enough to cover something.
CRASH_POINTS = [('before-admit-turn', 60), ('record-before-commit', 40), ('record-after-commit', 35),
                ('plan-before-commit', 3), ('plan-after-commit', 3), ('claim-after-commit', 3),
                ('record-before-commit', 45), ('before-admit-turn', 70), ('plan-after-commit', 4),
                ('record-after-commit', 40)]


class Storm:
    """grace: of every deployment; None leaves it at its default of a minute."""

    def __init__(self, grace, seed):
        self.grace = grace
        self.random = random.Random(seed)
        self.lives = []  # [covered from, surely alive until, dead since]
        self.open_at_kill = []
        self.crashes = 0
        self.ended = None
        self.statuses = {}
        self.whys = {}
        self.failure = None
        self.thread = threading.Thread(target=self.run_and_remember, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def join(self):
        self.thread.join()
        if self.failure is not None:
            raise self.failure
        return self

    def run_and_remember(self):
        try:
            self.run()
        except BaseException as failure:  # told by join, in the test's thread
            self.failure = failure

    def answer(self, _):
        return belfry.Answer(delay=self.random.uniform(0, 2))

    def run(self):
        self.receiver = belfry.Receiver(self.answer)
        # a lease that a busy machine does not outlast: a process that stood still for longer takes its own Runs over
        server = belfry.Server(binary=belfry.TEST_BINARY, lease='PT8S', beat=f'PT{BEAT}S', per_host=200)
        try:
            server.start()
            more = {} if self.grace is None else {'policies': {'grace': self.grace}}
            self.ids = [server.create(f'bell-{i}', '* * * * * *', self.receiver.url + f'/{i}', **more)['id']
                        for i in range(DEPLOYMENTS)]
            self.created = time.time()
            server.kill()
            self.begun = time.time()
            for number in range(KILLS):
                self.live_once(server, number)
                self.be_dead(number)
            server.start()
            self.lives.append([server.ready + 2 * BEAT, float('inf'), float('inf')])
            self.finish(server)
        finally:
            server.close()
            self.receiver.close()

    def live_once(self, server, number):
        """One start, and one kill: by us at even numbers, by a crash point at odd ones."""
        if number % 2 == 0:
            server.start()
            # counted from where it covers: two due times or more, however long the start took
            belfry.wait_until(server.ready + 2 * BEAT + self.random.uniform(2.05, 3.0))
            self.receiver.wait(lambda _: self.receiver.open > 0, 'an open call')
            before = time.time()
            self.open_at_kill.append(self.receiver.open)
            died = server.kill()
        else:
            point, passes = CRASH_POINTS[number // 2]
            server.start(crash_point=f'{point}:{passes}')
            died = server.wait_death(30)
            before = died - 0.1
            self.crashes += 1
        self.lives.append([server.ready + 2 * BEAT, before, died])

    def be_dead(self, number):
        """Half of the time long enough for due times that nobody covers; then until this part of the
        minute is over."""
        if number % 4 < 2:
            belfry.wait_until(time.time() + self.random.uniform(1.3, 1.8))
        belfry.wait_until(min(time.time() + 3, self.begun + SECONDS / KILLS * (number + 1)))

    def finish(self, server):
        """One more covered second; then every Run up to there must have ended."""
        self.ended = int(time.time()) + 2
        belfry.wait_until(self.ended + 1)

        def open_runs():
            return [r for r in server.runs(status='QUEUED,RUNNING')
                    if belfry.instant_of(r['due_at']) <= self.ended]
        belfry.wait_for(lambda: not open_runs(), 'the end of every Run', 60, 0.2)
        for id_ in self.ids:
            self.statuses[id_] = {belfry.instant_of(r['due_at']): r['status'] for r in server.runs(id_)}
        for due in self.uncovered():
            self.whys[due] = [server.why(id_, due) for id_ in self.ids[:3]]

    # --- judging ---

    def due_times(self):
        """All due times from the first covered one to the end."""
        first = int(self.lives[0][0]) + 1
        return range(first, self.ended + 1)

    def covered(self):
        return [due for due in self.due_times()
                if any(begin <= due <= until for begin, until, _ in self.lives)]

    def uncovered(self):
        """Where nobody lived: a beat after a death, and before the process that came next was there."""
        found = []
        for (_, _, died), (begin, _, _) in zip(self.lives, self.lives[1:]):
            found += [due for due in self.due_times() if died + BEAT < due < begin - 2 * BEAT - 1.0]
        return found
