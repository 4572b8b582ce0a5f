"""Random questions to a calendar: expression, zone, instant; the same ones for the same seed.

The whole dialect occurs, most of it in expressions that are due soon, because what is years away says nothing
about clock changes; half of the instants lie within two days of a clock change of their zone, so that gaps and
folds are met often, and a tenth lie anywhere from 1905 to 2395.
"""
import datetime
import random
import zoneinfo

import plain

# Whole hours and parts of them, both halves of the year, changes at midnight, by half an hour, by a day, by two
# hours, negative, in Ramadan, once for ever, never; and the far ends of the scale.
ZONES = '''UTC America/New_York America/Los_Angeles America/St_Johns America/Sao_Paulo America/Santiago
America/Havana America/Caracas America/Asuncion America/Nuuk America/Scoresbysund America/Phoenix America/Halifax
Europe/London Europe/Dublin Europe/Berlin Europe/Lisbon Europe/Moscow Europe/Istanbul Europe/Chisinau
Atlantic/Azores Africa/Cairo Africa/Casablanca Africa/Lagos Africa/Windhoek Africa/Juba Asia/Tokyo Asia/Kolkata
Asia/Kathmandu Asia/Tehran Asia/Gaza Asia/Beirut Asia/Amman Asia/Pyongyang Asia/Shanghai Australia/Sydney
Australia/Adelaide Australia/Lord_Howe Australia/Eucla Antarctica/Troll Pacific/Apia Pacific/Chatham
Pacific/Auckland Pacific/Kiritimati Pacific/Norfolk Pacific/Marquesas'''.split()
# Where a change is no whole hour, or comes at none: others keep the minutes and slip.
PARTS = '''Australia/Lord_Howe Pacific/Chatham America/St_Johns America/Caracas Asia/Kathmandu
Asia/Pyongyang'''.split()
MACROS = '@yearly @annually @monthly @weekly @daily @midnight @hourly'.split()
MONTHS = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split()
WEEKDAYS = 'SUN MON TUE WED THU FRI SAT'.split()
FIRST_CHANGE, LAST_CHANGE = 1970, 2040  # years from which clock changes are taken


def seconds(year):
    return plain.seconds_of(datetime.datetime(year, 1, 1, tzinfo=plain.UTC))


def find_changes(zone):
    """The clock changes of a zone, looked for day by day."""
    found = []
    day = 86400

    def offset(at):
        return plain.instant(at).astimezone(zone).utcoffset()
    for at in range(seconds(FIRST_CHANGE), seconds(LAST_CHANGE), day):
        if offset(at) != offset(at + day):
            found.append(plain.seconds_of(plain.end_of_gap(plain.instant(at), plain.instant(at + day), zone)))
    return found


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.zones = {name: zoneinfo.ZoneInfo(name) for name in ZONES}
        self.changes = {name: find_changes(zone) for name, zone in self.zones.items()}

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def range(self, low, high):
        first = self.random.randint(low, high)
        return first, self.random.randint(first, high)

    def member(self, low, high, percent_range=30):
        """A value, a range, or either with a step."""
        first, last = self.range(low, high)
        if first == last and not self.chance(10):  # not too often: others read it as the whole field
            return str(first)
        if not self.chance(percent_range):
            return f'{first}/{self.random.randint(1, 30)}' if self.chance(15) else str(first)
        step = f'/{self.random.choice((1, 2, 3, 4, 5, 7, 10, 15, 40))}' if self.chance(40) else ''
        return f'{first}-{last}{step}'

    def list_of(self, make):
        return ','.join(make() for _ in range(self.random.choice((1, 1, 1, 2, 3))))

    def minutes(self):
        if self.chance(30):
            return self.random.choice(('*', '*/5', '*/10', '*/15', '*/20', '*/30', '*/7', '*/45', '*/90'))
        return self.list_of(lambda: self.random.choice(('0', '30', '15', self.member(0, 59))))

    def hours(self):
        if self.chance(30):
            return self.random.choice(('*', '*', '*/2', '*/3', '*/6', '*/5', '0-23'))
        if self.chance(50):
            return self.list_of(lambda: self.member(0, 4))
        return self.list_of(lambda: self.member(0, 23))

    def day_member(self):
        if self.chance(85):
            return self.member(1, 31)
        return self.random.choice(('L', 'L-1', 'L-3', 'LW', '15W', '1W', '31W', '30W',
                                   '2-31,L'))

    def days(self):
        if self.chance(60):
            return self.random.choice(('*', '*', '*', '*', '*', '*', '*', '?'))
        if self.chance(15):
            return self.random.choice(('*/2', '*/3', '*/10'))
        return self.list_of(self.day_member)

    def months(self):
        if self.chance(80):
            return '*'
        if self.chance(30):
            first, last = self.range(0, 11)
            return f'{MONTHS[first]}-{MONTHS[last]}' if self.chance(50) else MONTHS[first].lower()
        return self.random.choice(('*/2', '*/5', self.list_of(lambda: self.member(1, 12))))

    def weekday_member(self):
        if self.chance(3):
            return self.random.choice(('1/2', '7/3', 'TUE/5', '4/3'))
        if self.chance(40):
            return self.member(0, 7)
        if self.chance(50):  # a range of names may run over the week's end
            first, last = self.random.choice(WEEKDAYS), self.random.choice(WEEKDAYS)
            return f'{first}-{last}' if self.chance(60) else first
        if self.chance(30):
            return f'{self.random.randint(4, 6)}-{self.random.randint(0, 3)}'
        day = self.random.choice((str(self.random.randint(0, 7)), self.random.choice(WEEKDAYS)))
        return day + (f'#{self.random.randint(1, 5)}' if self.chance(60) else 'L')

    def weekdays(self):
        if self.chance(60):
            return self.random.choice(('*', '*', '*', '*', '*', '*', '*', '?'))
        if self.chance(15):
            return self.random.choice(('*/2', '*/3', '*/5'))
        return self.list_of(self.weekday_member)

    def seconds(self):
        return self.random.choice(('0', '0', '30', '*', '*/10', self.member(0, 59)))

    def expression(self):
        if self.chance(2):
            return self.random.choice(MACROS)
        fields = [self.minutes(), self.hours(), self.days(), self.months(), self.weekdays()]
        if self.chance(25):
            fields.insert(0, self.seconds())
        if self.chance(1):  # what never comes
            fields[-3:] = self.random.choice(('30 2 *', '31 APR,6 *', '31W 9 *', 'L-30 FEB *', '*/3 2 WED#5',
                                              '*/2 2 0#5')).split()
        if self.chance(3):  # something that is none
            place = self.random.randrange(len(fields))
            fields[place] = self.random.choice(('5-2', '60', '*/0', '0', '8', '1,', 'x', '1-3/0', '32', '20-10/2'))
        return ' '.join(fields)

    def instant(self, zone):
        changes = self.changes[zone]
        if changes and self.chance(55):
            return self.random.choice(changes) + self.random.choice((
                self.random.randint(-172800, 172800), self.random.randint(-7200, 7200),
                self.random.randint(-7200, 0), self.random.randrange(-180, 1) * 60,
                self.random.randrange(-120, 121) * 60, self.random.randint(-2, 2)))
        if self.chance(80):
            return self.random.randrange(seconds(1971), seconds(2060))
        return self.random.randrange(seconds(1905), seconds(2395))

    def triple(self):
        if self.chance(8):
            zone = self.random.choice(PARTS)
            seconds = self.random.choice(('', '', '15 ', '* '))
            minutes = self.random.choice((self.random.randrange(-120, 121), self.random.randrange(-20, 2)))
            at = self.random.choice(self.changes[zone]) + minutes * 60
            hours = self.random.choice(('*/2', '*/3', '0/1', self.hours()))
            return f'{seconds}{self.minutes()} {hours} * * *', zone, at
        zone = self.random.choice(ZONES)
        return self.expression(), zone, self.instant(zone)


def make(count, seed):
    maker = Maker(seed)
    return [maker.triple() for _ in range(count)]
