"""How many due times croniter answers: next.py SECONDS ZONE EXPRESSION...

Prints lines "library, expression, answers a second" with tabs between. It is parsed once and asked for the time
behind the last one, from 2026 on and again from there at the end of 2045, as bench/calendar_next.c does. Time is
that of the processor.
"""
import datetime
import sys
import time
import zoneinfo

from croniter import croniter

BATCH = 20
END = datetime.datetime(2046, 1, 1, tzinfo=datetime.timezone.utc).timestamp()


def measure(expression, zone, limit):
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc).astimezone(zone)
    rule = croniter(expression, start)
    answers = 0
    begun = time.process_time()
    while time.process_time() - begun < limit:
        for _ in range(BATCH):
            if rule.get_next(float) > END:
                rule = croniter(expression, start)
        answers += BATCH
    return answers / (time.process_time() - begun)


def main():
    seconds, zone, *expressions = sys.argv[1:]
    for expression in expressions:
        rate = measure(expression, zoneinfo.ZoneInfo(zone), float(seconds))
        print(f'croniter\t{expression}\t{rate:.1f}')


main()
