"""Answers the questions of compare.py by croniter, one line each: seconds UTC, "never" or "refused: ...".

Reads lines "expression, zone, seconds UTC" with tabs between. All settings are croniter's own defaults, but
that seconds stand in front where there are six fields.
"""
import datetime
import signal
import sys
import zoneinfo

from croniter import CroniterBadCronError, CroniterBadDateError, croniter

SLOW_S = 0.5  # processor time of a question that has no answer


def stop(_number, _frame):
    raise TimeoutError


def answer(expression, zone, seconds):
    start = datetime.datetime.fromtimestamp(seconds, zoneinfo.ZoneInfo(zone))
    try:
        rule = croniter(expression, start, second_at_beginning=True)
        return str(int(rule.get_next(float)))
    except CroniterBadCronError as fault:
        return f'refused: {fault}'
    except CroniterBadDateError:
        return 'never'
    except Exception as fault:  # whatever it stumbles over is an answer to be explained
        return f'broken: {type(fault).__name__}'


def main():
    signal.signal(signal.SIGVTALRM, stop)
    for line in sys.stdin:
        expression, zone, seconds = line.rstrip('\n').split('\t')
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOW_S)
        print(answer(expression, zone, int(seconds)).replace('\n', ' '))
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


main()
