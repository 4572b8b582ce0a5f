"""The calendar once more, plainly: what docs/calendar.md says, read by somebody else.

Written for the comparison with other libraries, where two disagree and a third has to say who is right. It shares
nothing with src/calendar: other language, other reader of zones (Python's zoneinfo), and the opposite way of
thinking. It takes one local time that the expression names after another and asks the zone at which instants it
comes; it knows no spans, no day patterns and no jumps. Default policies only: at_end, first.
"""
import calendar
import datetime
import re

UTC = datetime.timezone.utc
SECOND = datetime.timedelta(seconds=1)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = {name: i + 1 for i, name in enumerate('JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split())}
WEEKDAYS = {name: i for i, name in enumerate('SUN MON TUE WED THU FRI SAT'.split())}
MACROS = {'@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *', '@monthly': '0 0 1 * *', '@weekly': '0 0 * * 0',
          '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@hourly': '0 * * * *'}
BOUNDS = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
SECONDS, MINUTES, HOURS, DAYS, MONTH, WEEKDAY = range(6)
YEARS = 60  # how far it looks: more than the 40 that 29 February on one weekday may be away


class Refused(ValueError):
    """The expression is none."""


def instant(seconds):
    return EPOCH + seconds * SECOND


def seconds_of(moment):
    return (moment - EPOCH) // SECOND


def split(expression):
    """Six fields, seconds in front."""
    fields = MACROS.get(expression.lower(), expression).upper().split()
    if len(fields) not in (5, 6):
        raise Refused('number of fields')
    return ['0'] * (6 - len(fields)) + fields


def number(text, place):
    names = {MONTH: MONTHS, WEEKDAY: WEEKDAYS}.get(place, {})
    value = names[text] if text in names else int(text) if re.fullmatch('[0-9]+', text) else -1
    if not BOUNDS[place][0] <= value <= BOUNDS[place][1]:
        raise Refused(text)
    return value


def read_member(text, place):
    """The values of one list member without letters of its own."""
    base, slash, step = text.partition('/')
    if slash and not re.fullmatch('0*[1-9][0-9]*', step):
        raise Refused('step')
    first, last = BOUNDS[place]
    if base != '*':
        low, dash, high = base.partition('-')
        first = number(low, place)
        last = number(high, place) if dash else last if slash else first
    if place == WEEKDAY and first > last:
        last += 7
    if place == WEEKDAY and base == 'SUN-SUN':
        last = first
    if first > last:
        raise Refused('range')
    return set(range(first, last + 1)[::int(step or 1)])


def read_field(text, place):
    """Values, and what only a month can say, as functions of year and month."""
    values, special = set(), []
    for member in text.split(','):
        if place in (DAYS, WEEKDAY) and member == '?' and text == '?':
            member = '*'
        if place == DAYS and re.fullmatch('L(-[0-9]+)?|LW|[0-9]+W', member):
            special.append(read_special_day(member))
        elif place == WEEKDAY and re.fullmatch('([0-7]|[A-Z]{3})(L|#[1-5])', member):
            special.append(read_special_weekday(member))
        else:
            values |= read_member(member, place)
    if place == WEEKDAY:
        values = {value % 7 for value in values}
    return values, special


def length(year, month):
    return calendar.monthrange(year, month)[1]


def weekday(year, month, day):
    return datetime.date(year, month, day).isoweekday() % 7


def nearest(year, month, wanted):
    """The day from Monday to Friday that is nearest, within the month."""
    days = range(1, length(year, month) + 1)
    if wanted not in days:
        return None
    return min((day for day in days if weekday(year, month, day) in range(1, 6)),
               key=lambda day: (abs(day - wanted), day))


def read_special_day(member):
    if member == 'LW':
        return lambda y, m: max(d for d in range(1, length(y, m) + 1) if 1 <= weekday(y, m, d) <= 5)
    if member.endswith('W'):
        wanted = number(member[:-1], DAYS)
        return lambda y, m: nearest(y, m, wanted)
    before = int(member[2:] or 0)
    if before > 30:
        raise Refused(member)
    return lambda y, m: length(y, m) - before


def read_special_weekday(member):
    wanted = number(re.sub('(L|#[1-5])$', '', member), WEEKDAY) % 7
    place = -1 if member.endswith('L') else int(member[-1]) - 1

    def day(year, month):
        days = [d for d in range(1, length(year, month) + 1) if weekday(year, month, d) == wanted]
        return days[place] if place < len(days) else None
    return day


def is_starred(field):
    return field[0] in '*?'


class Plain:
    def __init__(self, expression):
        fields = split(expression)
        read = [read_field(field, place) for place, field in enumerate(fields)]
        self.seconds, self.minutes, self.hours = (sorted(values) for values, _ in read[:3])
        self.months = read[MONTH][0]
        self.days, self.special_days = read[DAYS]
        self.weekdays, self.special_weekdays = read[WEEKDAY]
        self.needs_both = is_starred(fields[DAYS]) or is_starred(fields[WEEKDAY])
        self.is_fixed = not fields[MINUTES].startswith('*') and not fields[HOURS].startswith('*')

    def names(self, date):
        if date.month not in self.months:
            return False
        by_day = date.day in self.days or any(f(date.year, date.month) == date.day for f in self.special_days)
        by_weekday = date.isoweekday() % 7 in self.weekdays or \
            any(f(date.year, date.month) == date.day for f in self.special_weekdays)
        return by_day and by_weekday if self.needs_both else by_day or by_weekday

    def local_times(self, start):
        """The local times that the expression names, from `start` on."""
        date = start.date()
        end = date.year + YEARS
        while date.year < min(end, 9999):
            if self.names(date):
                for hour in self.hours:
                    if datetime.datetime(date.year, date.month, date.day, hour, 59, 59) < start:
                        continue
                    for minute in self.minutes:
                        for second in self.seconds:
                            local = datetime.datetime(date.year, date.month, date.day, hour, minute, second)
                            if local >= start:
                                yield local
            date += datetime.timedelta(days=1)

    def instants(self, local, zone):
        """When a local time is due."""
        passes = [local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
        real = sorted({p for p in passes if p.astimezone(zone).replace(tzinfo=None, fold=0) == local})
        if not self.is_fixed:
            return real
        return real[:1] or [end_of_gap(min(passes), max(passes), zone)]

    def next(self, zone, after):
        """The first due instant behind `after`; None where there is none in YEARS."""
        best, enough = None, None
        for local in self.local_times(local_of(after, zone) - sway(after, zone)):
            if best is not None and local > enough:
                break
            for due in self.instants(local, zone):
                if due > after and (best is None or due < best):
                    best, enough = due, local_of(due, zone) + sway(due, zone)
        return best


def local_of(moment, zone):
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def end_of_gap(before, behind, zone):
    """The change between two instants, the first of which has the old offset."""
    old = before.astimezone(zone).utcoffset()
    while behind - before > SECOND:
        middle = before + (behind - before) // 2
        middle = middle.replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == old:
            before = middle
        else:
            behind = middle
    return behind


def changes(moment, zone, hours=49):
    """The offsets that the zone has in the hours around an instant."""
    return [(moment + datetime.timedelta(hours=h)).astimezone(zone).utcoffset() for h in range(-hours, hours + 1)]


def sway(moment, zone):
    """By how much local time may jump near an instant."""
    offsets = changes(moment, zone)
    return max(offsets) - min(offsets)
