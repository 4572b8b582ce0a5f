"""Answers the questions of compare.py by cronsim, one line each: seconds UTC, "never" or "refused: ...".

Reads lines "expression, zone, seconds UTC" with tabs between.
"""
import datetime
import signal
import sys
import zoneinfo

from cronsim import CronSim, CronSimError

SLOW_S = 0.5  # processor time of a question that has no answer


def stop(_number, _frame):
    raise TimeoutError


def answer(expression, zone, seconds):
    start = datetime.datetime.fromtimestamp(seconds, zoneinfo.ZoneInfo(zone))
    try:
        return str(int(next(CronSim(expression, start)).timestamp()))
    except CronSimError as fault:
        return f'refused: {fault}'
    except StopIteration:
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
