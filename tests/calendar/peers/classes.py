"""Why another library answers otherwise: one class for each reason.

A class is a predicate on a case: what was asked, both answers, and what the zone does near them. It says that the
library's known habit is at work, not merely that the answers differ; whose answer is right is said by the rows
of peers.tsv, each with its source, and by plain.py. docs/calendar.md has a line for each class.
"""
import datetime
import re
import zoneinfo

import plain

HOUR = datetime.timedelta(hours=1)


class Case:
    """A question with two answers."""

    def __init__(self, triple, ours, theirs):
        self.expression, self.zone_name, self.after_s = triple
        self.ours, self.theirs = ours, theirs
        self.zone = zoneinfo.ZoneInfo(self.zone_name)
        self.has_seconds = len(self.expression.split()) == 6
        self.fields = plain.split(self.expression)
        _, self.minute, self.hour, self.day, self.month, self.weekday = self.fields
        self.is_fixed = not self.minute.startswith('*') and not self.hour.startswith('*')

    def __str__(self):
        return f'"{self.expression}" {self.zone_name} after {show(str(self.after_s))}: ' \
               f'Belfry {show(self.ours)}, the other {show(self.theirs)}'

    def members(self):
        return [(place, member) for place, field in enumerate(self.fields) for member in field.split(',')]

    def moments(self):
        answers = [text for text in (self.ours, self.theirs) if is_number(text)]
        return [plain.instant(int(text)) for text in [str(self.after_s), *answers]]

    def changes(self, reach=2 * HOUR):
        """The clock changes near the question or an answer: when, and the offsets before and behind."""
        found = {}
        for moment in self.moments():
            offsets = plain.changes(moment, self.zone, 26)
            for hour, (before, behind) in enumerate(zip(offsets, offsets[1:]), -26):
                if before != behind and abs(hour * HOUR) <= abs(behind - before) + reach:
                    start = moment + hour * HOUR
                    found[plain.end_of_gap(start, start + HOUR, self.zone)] = (before, behind)
        return [(when, *offsets) for when, offsets in sorted(found.items())]

    def has_gap(self):
        return any(behind > before for _, before, behind in self.changes())

    def has_fold(self):
        return any(behind < before for _, before, behind in self.changes())

    def has_part_of_hour(self):
        return any((behind - before) % HOUR or (when + before).minute for when, before, behind in self.changes(12 * HOUR))

    def is_midnight_changed(self):
        """Whether midnight is left out or comes twice at a change nearby."""
        for when, before, behind in self.changes():
            edges = sorted((when + before, when + behind))
            if any(edges[0] <= edge.replace(hour=0, minute=0, second=0) < edges[1] for edge in edges):
                return True
        return False

    def their_moment(self):
        return plain.instant(int(self.theirs)) if is_number(self.theirs) else None

    def is_their_end_of_gap(self):
        """Whether the other's answer lies in the first minute behind a gap."""
        moment = self.their_moment()
        return moment is not None and any(behind > before and 0 * HOUR <= moment - when < HOUR / 60
                                          for when, before, behind in self.changes())

    def is_their_second_pass(self):
        moment = self.their_moment()
        return moment is not None and moment.astimezone(self.zone).fold == 1

    def is_our_second_pass(self):
        return plain.instant(int(self.ours)).astimezone(self.zone).fold == 1

    def as_interval(self):
        """What the expression would mean if no policy applied to it."""
        rule = plain.Plain(self.expression)
        rule.is_fixed = False
        due = rule.next(self.zone, plain.instant(self.after_s))
        return 'never' if due is None else str(plain.seconds_of(due))

    def both_days_restricted(self):
        return self.day not in '*?' and self.weekday not in '*?'

    def is_refused_by_them(self):
        return self.theirs.startswith('refused') and is_number(self.ours)

    def is_answered_by_both(self):
        return is_number(self.ours) and (is_number(self.theirs) or self.theirs == 'never')


def is_number(text):
    return re.fullmatch('-?[0-9]+', text) is not None


def show(text):
    return plain.instant(int(text)).strftime('%Y-%m-%dT%H:%M:%SZ') if is_number(text) else text


def has_member(case, place, pattern):
    return any(re.fullmatch(pattern, member) for member in case.fields[place].split(','))


def value(text, place):
    return plain.number(text, place) % 7 if place == plain.WEEKDAY else plain.number(text, place)


def equal_ranges(case, step):
    """Members that are a range of one value, with such a step."""
    for place, member in case.members():
        match = re.fullmatch(f'([0-9A-Z]+)-([0-9A-Z]+){step}', member)
        if match and match.groups() != ('0', '7') and value(match[1], place) == value(match[2], place):
            yield place, member


# ---- croniter ---------------------------------------------------------------------------------------

def steps_to_saturday(case):
    for member in case.weekday.split(','):
        match = re.fullmatch('([0-7A-Z]+)/([0-9]+)', member)
        start = plain.number(match[1], plain.WEEKDAY) if match else 0
        if start == 7 and int(match[2]) <= 6 or 0 < start < 7 and (7 - start) % int(match[2]) == 0:
            return True
    return False


CRONITER = {
    'croniter-special-day': lambda case: case.is_refused_by_them() and
        has_member(case, plain.DAYS, 'L-[0-9]+|LW'),
    'croniter-w-in-list': lambda case: case.is_refused_by_them() and
        ',' in case.day and has_member(case, plain.DAYS, '[0-9]+W'),
    'croniter-last-weekday': lambda case: case.is_refused_by_them() and
        has_member(case, plain.WEEKDAY, '[0-7A-Z]+L'),
    'croniter-nth-in-list': lambda case: case.is_refused_by_them() and
        '#' in case.weekday and has_member(case, plain.WEEKDAY, '[^#]+'),
    'croniter-backwards': lambda case: 'runs backwards' in case.ours and not case.theirs.startswith('refused'),
    'croniter-never-asked': lambda case: 'never comes' in case.ours and case.theirs == 'never',
    'croniter-equal-range': lambda case: not case.theirs.startswith('refused') and any(equal_ranges(case, '(?:/[0-9]+)?')),
    'croniter-saturday': lambda case: case.is_answered_by_both() and steps_to_saturday(case),
    'croniter-star-step': lambda case: not case.theirs.startswith('refused') and case.both_days_restricted() and
        (case.day.startswith('*/') or case.weekday.startswith('*/')),
    'croniter-both-special': lambda case: case.is_answered_by_both() and case.both_days_restricted() and
        ('#' in case.weekday or 'W' in case.day),
    'croniter-nth-alone': lambda case: case.is_answered_by_both() and
        '#' in case.weekday and has_member(case, plain.WEEKDAY, '[^#]+'),
    'croniter-last-counted': lambda case: case.is_answered_by_both() and 'L' in case.day.split(',') and
        len(plain.read_field(case.day, plain.DAYS)[0]) == 30,
    'croniter-w-clipped': lambda case: is_number(case.theirs) and
        has_member(case, plain.DAYS, '(29|30|31)W'),
    'croniter-full-range': lambda case: case.is_answered_by_both() and case.is_fixed and
        len(plain.read_field(case.hour, plain.HOURS)[0]) == 24 and bool(case.changes()),
    'croniter-fold-twice': lambda case: case.is_answered_by_both() and case.is_fixed and
        case.is_their_second_pass(),
    'croniter-fold-missed': lambda case: case.is_answered_by_both() and not case.is_fixed and
        case.is_our_second_pass() and int(case.theirs) > int(case.ours),
    'croniter-gap-star': lambda case: case.is_answered_by_both() and not case.is_fixed and
        case.is_their_end_of_gap(),
    'croniter-gap-seconds': lambda case: case.is_answered_by_both() and case.is_fixed and
        case.has_seconds and case.is_their_end_of_gap(),
}

def wraps(case):
    for member in case.weekday.split(','):
        match = re.match('([0-7]|[A-Z]{3})-([0-7]|[A-Z]{3})', member)
        if match and plain.number(match[1], plain.WEEKDAY) > plain.number(match[2], plain.WEEKDAY):
            return True
    return False


# ---- cronsim ----------------------------------------------------------------------------------------

CRONSIM = {
    'cronsim-macro': lambda case: case.is_refused_by_them() and case.expression.startswith('@'),
    'cronsim-question-mark': lambda case: case.is_refused_by_them() and '?' in case.expression,
    'cronsim-special-day': lambda case: case.is_refused_by_them() and
        has_member(case, plain.DAYS, 'L-[0-9]+|[0-9]+W'),
    'cronsim-named-last': lambda case: case.is_refused_by_them() and
        has_member(case, plain.WEEKDAY, '[A-Z]{3}L'),
    'cronsim-week-end': lambda case: case.is_refused_by_them() and wraps(case),
    'cronsim-never-asked': lambda case: 'never comes' in case.ours and case.theirs == 'never',
    'cronsim-equal-range': lambda case: case.is_answered_by_both() and any(equal_ranges(case, '/[0-9]+')),
    'cronsim-seconds': lambda case: case.is_answered_by_both() and case.is_fixed and case.has_seconds and
        case.theirs == case.as_interval(),
    'cronsim-back-in-time': lambda case: case.is_answered_by_both() and
        is_number(case.theirs) and case.their_moment() <= plain.instant(case.after_s),
    'cronsim-endless': lambda case: case.theirs == 'broken: TimeoutError' and case.has_part_of_hour(),
    'cronsim-midnight': lambda case: case.is_answered_by_both() and not (case.is_fixed and not case.has_seconds) and
        case.is_midnight_changed(),
    'cronsim-part-of-hour': lambda case: case.is_answered_by_both() and not (case.is_fixed and not case.has_seconds)
        and case.has_part_of_hour(),
}

# ---- croner -----------------------------------------------------------------------------------------

CRONER = {
    'croner-step-from': lambda case: case.is_refused_by_them() and any(
        re.fullmatch('[0-9A-Z]+/[0-9]+', member) for _, member in case.members()),
    'croner-long-step': lambda case: case.is_refused_by_them() and 'steps cannot be greater' in case.theirs,
    'croner-week-end': lambda case: case.is_refused_by_them() and wraps(case),
    'croner-special-day': lambda case: case.is_refused_by_them() and (
        has_member(case, plain.DAYS, 'L-[0-9]+') or ',' in case.day and has_member(case, plain.DAYS, 'LW')),
    'croner-never-asked': lambda case: 'never comes' in case.ours and case.theirs == 'never',
    'croner-star-step': lambda case: not case.theirs.startswith('refused') and case.both_days_restricted() and
        (case.day.startswith('*/') or case.weekday.startswith('*/')),
    'croner-sunday': lambda case: case.is_answered_by_both() and has_member(case, plain.WEEKDAY, 'SUN-SUN'),
    'croner-fold-twice': lambda case: case.is_answered_by_both() and case.is_fixed and
        case.is_their_second_pass(),
    'croner-gap': lambda case: case.is_answered_by_both() and case.is_fixed and case.has_gap(),
}

PEERS = {'croniter': CRONITER, 'cronsim': CRONSIM, 'croner': CRONER}


def classify(peer, case):
    """The name of the first class that explains the difference, or None."""
    return next((name for name, explains in PEERS[peer].items() if explains(case)), None)
