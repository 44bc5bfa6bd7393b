"""Answers the questions from their English alone, in plain Python, without any SQL.

One reader a kind of question: a pattern and a function from what it matched to rows. If a reader
and a gold query agree, the question says what the query asks.
"""

import operator
import re
from collections import defaultdict

VERB = "(?:Find|Give|List|Show)"
MORE = {"greater than", "higher than", "later than", "longer than"}
LESS = {"less than", "lower than", "earlier than", "shorter than"}
MOST = {"largest", "highest", "latest", "longest"}
LEAST = {"smallest", "lowest", "earliest", "shortest"}
READERS = {}


def reads(template, pattern):
    """Register a reader; ``<noun>`` and its like stand for the words of the schema."""

    def register(function):
        READERS[template] = (pattern, function)
        return function

    return register


def answer(task, base):
    """Return the rows that a task's question asks for, and whether their order counts."""
    pattern, function = READERS[task.template]
    world = World(base)
    match = re.fullmatch(world.spelled_out(pattern), task.question)
    assert match, (pattern, task.question)
    words = {name.rstrip("_"): text for name, text in match.groupdict().items()}
    rows = function(world, **words)
    ordered = "sorted by" in task.question or " first." in task.question
    return [row if isinstance(row, tuple) else (row,) for row in rows], ordered


class World:
    """The rows of a database as dictionaries, and the words of its schema."""

    def __init__(self, base):
        self.schema = base.schema
        self.rows = {
            table.name: [
                dict(zip((c.name for c in table.columns), row, strict=True))
                for row in base.rows[table.name]
            ]
            for table in base.schema.tables
        }

    def spelled_out(self, pattern):
        """Return a pattern with the words of the schema in the place of ``<noun>``."""
        tables, relations = self.schema.tables, self.schema.relations
        words = {
            "noun": [table.noun for table in tables],
            "plural": [table.plural for table in tables],
            "child": [relation.column.child for relation in relations],
            "children": [relation.column.children for relation in relations],
            "column": [c.noun for table in tables for c in table.columns],
            "columns": [c.plural for table in tables for c in table.columns if c.plural],
        }

        def group(match):
            longest_first = sorted({re.escape(w) for w in words[match[2]]}, key=len)[::-1]
            return f"(?P<{match[1]}>{'|'.join(longest_first)})"

        pattern = re.sub(r"<(\w+?)(?=:):(\w+)>", group, pattern)
        return re.sub(r"\[(\w+)\]", r"(?P<\1>.+?)", pattern)

    # --- Words ------------------------------------------------------------------------------

    def table(self, word):
        return next(t for t in self.schema.tables if word in (t.noun, t.plural))

    def column(self, table, word):
        return next(c.name for c in table.columns if word in (c.noun, c.plural)).strip()

    def columns(self, table, text):
        """``"the title, the genre and the price"`` as names of columns."""
        parts = re.split(r", | and (?=the )", text)
        return [self.column(table, part.removeprefix("the ")) for part in parts]

    def relation(self, parent, word):
        """The foreign key behind the word that a parent has for its children."""
        return next(
            r for r in self.schema.relations
            if r.parent == parent and word in (r.column.child, r.column.children)
        )  # fmt: skip

    def by_role(self, child, role):
        return next(r for r in self.schema.relations if r.child == child and r.role == role)

    # --- Rows -------------------------------------------------------------------------------

    def where(self, table, condition=None):
        test = self.condition(table, condition) if condition else lambda row: True
        return [row for row in self.rows[table.name] if test(row)]

    def parent(self, row, relation):
        key = row[relation.column.name]
        name = relation.parent.key.name
        return next(p for p in self.rows[relation.parent.name] if p[name] == key)

    def children(self, parent, relation, condition=None):
        key = parent[relation.parent.key.name]
        found = self.where(relation.child, condition)
        return [row for row in found if row[relation.column.name] == key]

    def condition(self, table, text):
        """A condition in English as a function of a row."""
        text = text.strip()
        for word, combine in ((" and whose ", all), (" or whose ", any)):
            if word in text:
                left, right = text.split(word, 1)
                tests = [self.condition(table, left), self.condition(table, f"whose {right}")]
                return lambda row: combine(test(row) for test in tests)
        for column in table.columns:
            for phrase, compare in ((column.over, operator.gt), (column.under, operator.lt)):
                found = re.fullmatch(re.escape(phrase).replace(r"\{\}", "([0-9.-]+)"), text)
                if phrase and found:
                    return self.comparison(lambda row, c=column: row[c.name], compare, found[1])
        comparisons = "|".join(sorted(MORE | LESS))
        owner, words, value = re.fullmatch(
            rf"whose (.+?) is (?:({comparisons}) )?(\S+|'.+')", text
        ).groups()  # fmt: skip
        compare = operator.eq if not words else operator.gt if words in MORE else operator.lt
        return self.comparison(self.getter(table, owner), compare, value)

    def getter(self, table, owner):
        if "'s " not in owner:
            name = self.column(table, owner)
            return lambda row: row[name]
        role, noun = owner.split("'s ", 1)
        relation = self.by_role(table, role)
        name = self.column(relation.parent, noun)
        return lambda row: self.parent(row, relation)[name]

    @staticmethod
    def comparison(get, compare, text):
        value = number_or_text(text)
        return lambda row: get(row) is not None and compare(get(row), value)


def number_or_text(text):
    if text.startswith("'"):
        return text.strip("'")
    return text if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else float(text)


def pick(rows, names):
    return [tuple(row[name] for name in names) for row in rows]


def grouped(rows, key):
    groups = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def aggregate(world, table, text, rows):
    """``"the average price"`` of rows."""
    word, noun = re.fullmatch(r"the (\w+) (.+)", text).groups()
    values = [row[world.column(table, noun)] for row in rows]
    if word in MOST | LEAST:
        return max(values) if word in MOST else min(values)
    return sum(values) / len(values) if word == "average" else sum(values)


def extreme_first(rows, name, word):
    return sorted(rows, key=lambda row: row[name], reverse=word in MOST)


# --- Easy ----------------------------------------------------------------------------------------


@reads("list_filtered", rf"{VERB} [shown] of every <noun:noun> [cond]\.")
@reads("two_conditions", rf"{VERB} [shown] of every <noun:noun> [cond]\.")
def list_filtered(world, shown, noun, cond):
    table = world.table(noun)
    return pick(world.where(table, cond), world.columns(table, shown))


@reads("count_filtered", r"(?:How many|Count the) <plural:plural>(?: are there)? [cond][?.]")
@reads("count_via_parent", r"(?:How many|Count the) <plural:plural>(?: are there)? [cond][?.]")
def count_filtered(world, plural, cond):
    return [len(world.where(world.table(plural), cond))]


@reads(
    "distinct_values", r"Which different <values:columns> occur among the <plural:plural> [cond]\?"
)
def distinct_values(world, values, plural, cond):
    table = world.table(plural)
    return sorted({row[world.column(table, values)] for row in world.where(table, cond)})


@reads("aggregate_filtered", r"What is [what] of the <plural:plural> [cond]\?")
@reads("aggregate_via_parent", r"What is [what] of the <plural:plural> [cond]\?")
def aggregate_filtered(world, what, plural, cond):
    table = world.table(plural)
    return [aggregate(world, table, what, world.where(table, cond))]


@reads(
    "top_one",
    rf"{VERB} the <label:column> of the <noun:noun> with the (?P<word>\w+) "
    r"<measure:column>(?: among the \S+ (?P<cond>.+))?\.",
)
def top_one(world, label, noun, word, measure, cond):
    table = world.table(noun)
    rows = extreme_first(world.where(table, cond), world.column(table, measure), word)
    return pick(rows[:1], [world.column(table, label)])


@reads(
    "sorted_list",
    rf"{VERB} the <label:column> of every <noun:noun> [cond], sorted by "
    r"<measure:column> from (?P<word>\w+) to \w+\.",
)
def sorted_list(world, label, noun, cond, measure, word):
    table = world.table(noun)
    rows = extreme_first(world.where(table, cond), world.column(table, measure), word)
    return pick(rows, [world.column(table, label)])


@reads(
    "between",
    rf"{VERB} [shown] of every <noun:noun> whose <measure:column> is between [low] "
    r"and [high], both included\.",
)
def between(world, shown, noun, measure, low, high):
    table = world.table(noun)
    name, low, high = world.column(table, measure), number_or_text(low), number_or_text(high)
    rows = [row for row in world.rows[table.name] if low <= row[name] <= high]
    return pick(rows, world.columns(table, shown))


@reads(
    "either_value",
    rf"{VERB} [shown] of every <noun:noun> whose <kind:column> is "
    r"'(?P<one>.+?)' or '(?P<two>.+?)'\.",
)
def either_value(world, shown, noun, kind, one, two):
    table = world.table(noun)
    rows = [row for row in world.rows[table.name] if row[world.column(table, kind)] in (one, two)]
    return pick(rows, world.columns(table, shown))


@reads("unknown", rf"{VERB} [shown] of every <noun:noun> whose <gap:column> is unknown \(NULL\)\.")
def unknown(world, shown, noun, gap):
    table = world.table(noun)
    rows = [row for row in world.rows[table.name] if row[world.column(table, gap)] is None]
    return pick(rows, world.columns(table, shown))


@reads(
    "extremes",
    r"What are the \w+ and the \w+ <measure:column> of the <plural:plural> [cond]\? "
    r"Show them in this order\.",
)
def extremes(world, measure, plural, cond):
    table = world.table(plural)
    values = [row[world.column(table, measure)] for row in world.where(table, cond)]
    return [(min(values), max(values))]


@reads(
    "count_distinct",
    r"How many different <values:columns> occur among the <plural:plural> "
    r"[cond]\?",
)
def count_distinct(world, values, plural, cond):
    return [len(distinct_values(world, values, plural, cond))]


@reads(
    "contains",
    rf"{VERB} [shown] of every <noun:noun> whose <label:column> contains "
    r"'(?P<piece>.+)'\.",
)
def contains(world, shown, noun, label, piece):
    table = world.table(noun)
    name = world.column(table, label)
    rows = [row for row in world.rows[table.name] if piece.lower() in row[name].lower()]
    return pick(rows, world.columns(table, shown))


# --- Medium --------------------------------------------------------------------------------------


@reads(
    "child_with_parent",
    r"For every <noun:noun> [cond], show (?P<own>the .+?)(?:,| and) the "
    r"<label:column> of (?:its|their) (?P<role>[\w ]+)\.",
)
def child_with_parent(world, noun, cond, own, label, role):
    table = world.table(noun)
    relation = world.by_role(table, role)
    names, name = world.columns(table, own), world.column(relation.parent, label)
    return [
        (*(row[each] for each in names), world.parent(row, relation)[name])
        for row in world.where(table, cond)
    ]


@reads(
    "count_by_category",
    r"For each <kind:column> that occurs among the <plural:plural> [cond], "
    r"show the (?P=kind) and the number of such (?P=plural)\.",
)
def count_by_category(world, kind, plural, cond):
    table = world.table(plural)
    name = world.column(table, kind)
    groups = grouped(world.where(table, cond), lambda row: row[name])
    return [(key, len(rows)) for key, rows in groups.items()]


@reads(
    "aggregate_by_category",
    r"Group the <plural:plural>(?: (?P<cond>.+?))? by <kind:column>\. "
    r"For each (?P=kind), show the (?P=kind) and [what]\.",
)
def aggregate_by_category(world, plural, cond, kind, what):
    table = world.table(plural)
    name = world.column(table, kind)
    groups = grouped(world.where(table, cond), lambda row: row[name])
    return [(key, aggregate(world, table, what, rows)) for key, rows in groups.items()]


@reads(
    "top_k",
    r"Among the <plural:plural> [cond], \w+ [shown] of the (?P<count>\d+) with the "
    r"(?P<word>\w+) <measure:column>, the (?P=word) first\.",
)
def top_k(world, plural, cond, shown, count, word, measure):
    table = world.table(plural)
    rows = extreme_first(world.where(table, cond), world.column(table, measure), word)
    return pick(rows[: int(count)], world.columns(table, shown))


@reads(
    "count_children",
    r"For every <noun:noun> (?:who|that) has at least one <child:child> [cond], "
    r"show the <label:column> and the number of such <many:children>\.",
)
def count_children(world, noun, child, cond, label, many):
    table = world.table(noun)
    relation, name = world.relation(table, child), world.column(table, label)
    assert relation == world.relation(table, many)
    counts = [(row[name], len(world.children(row, relation, cond))) for row in world.where(table)]
    return [pair for pair in counts if pair[1]]


@reads(
    "frequent_categories",
    r"Which <values:columns> occur at least (?P<count>\d+) times among the "
    r"<plural:plural>(?: (?P<cond>.+))?\?",
)
def frequent_categories(world, values, count, plural, cond):
    table = world.table(plural)
    name = world.column(table, values)
    groups = grouped(world.where(table, cond), lambda row: row[name])
    return [key for key, rows in groups.items() if len(rows) >= int(count)]


@reads(
    "aggregate_per_parent",
    r"For every <noun:noun> [cond] and (?:who|that) has at least one "
    r"<child:child>, show the <label:column> and [what] of (?:its|their) <many:children>\.",
)
def aggregate_per_parent(world, noun, cond, child, label, what, many):
    table = world.table(noun)
    relation, name = world.relation(table, child), world.column(table, label)
    assert relation == world.relation(table, many)
    return [
        (row[name], aggregate(world, relation.child, what, world.children(row, relation)))
        for row in world.where(table, cond)
        if world.children(row, relation)
    ]


@reads(
    "distinct_parents",
    rf"{VERB} the <label:column> of every <noun:noun> (?:who|that) has at "
    r"least one <child:child> [cond]\. Name each (?P=noun) once\.",
)
@reads(
    "distinct_across_three",
    rf"{VERB} the <label:column> of every <noun:noun> (?:who|that) has "
    r"at least one <child:child> [cond]\. Name each (?P=noun) once\.",
)
def distinct_parents(world, label, noun, child, cond):
    table = world.table(noun)
    relation = world.relation(table, child)
    rows = [row for row in world.where(table) if world.children(row, relation, cond)]
    return pick(rows, [world.column(table, label)])


@reads(
    "sorted_by_two",
    rf"{VERB} [shown] of every <noun:noun> [cond], sorted by <kind:column> in "
    r"alphabetical order and, within the same (?P=kind), by <measure:column> from (?P<word>\w+) "
    r"to \w+\.",
)
def sorted_by_two(world, shown, noun, cond, kind, measure, word):
    table = world.table(noun)
    rows = extreme_first(world.where(table, cond), world.column(table, measure), word)
    rows.sort(key=lambda row: row[world.column(table, kind)])
    return pick(rows, world.columns(table, shown))


# --- Hard ----------------------------------------------------------------------------------------


@reads(
    "parents_without",
    rf"{VERB} the <label:column> of every <noun:noun> (?:who|that) has no "
    r"<child:child>(?: (?P<cond>.+))?\.",
)
def parents_without(world, label, noun, child, cond):
    table = world.table(noun)
    relation = world.relation(table, child)
    rows = [row for row in world.where(table) if not world.children(row, relation, cond)]
    return pick(rows, [world.column(table, label)])


@reads(
    "parents_with",
    rf"{VERB} the <label:column> of every <noun:noun> [own] and (?:who|that) has "
    r"at least one <child:child> [cond]\.",
)
def parents_with(world, label, noun, own, child, cond):
    table = world.table(noun)
    relation = world.relation(table, child)
    rows = [row for row in world.where(table, own) if world.children(row, relation, cond)]
    return pick(rows, [world.column(table, label)])


@reads(
    "above_average",
    rf"{VERB} the <label:column> and the <measure:column> of every <noun:noun> "
    r"(?:(?P<own>.+?) and )?whose (?P=measure) is (?P<word>\w+ than) the average (?P=measure) of "
    r"all <plural:plural>\.",
)
def above_average(world, label, measure, noun, own, word, plural):
    table = world.table(noun)
    name = world.column(table, measure)
    values = [row[name] for row in world.where(world.table(plural))]
    average = sum(values) / len(values)
    compare = operator.gt if word in MORE else operator.lt
    rows = [row for row in world.where(table, own) if compare(row[name], average)]
    return pick(rows, [world.column(table, label), name])


@reads(
    "parents_with_many",
    rf"{VERB} the <label:column> of every <noun:noun> (?:who|that) has at "
    r"least (?P<count>\d+) <many:children>(?: (?P<cond>.+))?, and the number of those "
    r"(?P=many)\.",
)
def parents_with_many(world, label, noun, count, many, cond):
    table = world.table(noun)
    relation, name = world.relation(table, many), world.column(table, label)
    counts = [(row[name], len(world.children(row, relation, cond))) for row in world.where(table)]
    return [pair for pair in counts if pair[1] >= int(count)]


@reads(
    "parent_with_most",
    r"Which <noun:noun> has the most <many:children>(?: (?P<cond>.+?))?\? Show "
    r"the <label:column> and the number of those (?P=many)\.",
)
@reads(
    "most_across_three",
    r"Which <noun:noun> has the most <many:children> [cond]\? Show the "
    r"<label:column> and the number of those (?P=many)\.",
)
def parent_with_most(world, noun, many, cond, label):
    table = world.table(noun)
    relation, name = world.relation(table, many), world.column(table, label)
    counts = [(row[name], len(world.children(row, relation, cond))) for row in world.where(table)]
    return [max(counts, key=lambda pair: pair[1])]


@reads(
    "only_in_the_first",
    r"Which <values:columns> occur among the <plural:plural> [first] but not "
    r"among the (?P=plural) [second]\?",
)
def only_in_the_first(world, values, plural, first, second):
    sets = [set(distinct_values(world, values, plural, each)) for each in (first, second)]
    return sorted(sets[0] - sets[1])


@reads(
    "three_tables",
    r"For every <noun:noun> [cond], show the <label:column>, the <one:column> of "
    r"(?:its|their) (?P<role>[\w ]+?) and the <two:column> of (?P<owner>.+)\.",
)
def three_tables(world, noun, cond, label, one, role, two, owner):
    table = world.table(noun)
    first = world.by_role(table, role)
    direct = not owner.startswith("that ")
    start = table if direct else first.parent
    second = world.by_role(start, re.sub(r"^(its|their|that .+?'s) ", "", owner))
    result = []
    for row in world.where(table, cond):
        near = world.parent(row, first)
        far = world.parent(row if direct else near, second)
        result.append((row[world.column(table, label)], near[world.column(first.parent, one)],
                       far[world.column(second.parent, two)]))  # fmt: skip
    return result


@reads(
    "high_average_groups",
    r"Group the <plural:plural>(?: (?P<cond>.+?))? by <kind:column>\. For "
    r"which <values:columns> is the average <measure:column> (?P<word>\w+ than) (?P<value>[\d.]+)"
    r"\? Show the (?P=kind) and that average\.",
)
def high_average_groups(world, plural, cond, kind, values, measure, word, value):
    table = world.table(plural)
    name, compare = world.column(table, kind), operator.gt if word in MORE else operator.lt
    assert name == world.column(table, values)
    groups = grouped(world.where(table, cond), lambda row: row[name])
    pairs = [(k, aggregate(world, table, f"the average {measure}", g)) for k, g in groups.items()]
    return [pair for pair in pairs if compare(pair[1], float(value))]


@reads(
    "own_and_child",
    rf"{VERB} the <one:column> and the <two:column> of every <noun:noun> [own], "
    r"provided that there is at least one <child:child> for (?:it|them) [cond]\.",
)
def own_and_child(world, one, two, noun, own, child, cond):
    table = world.table(noun)
    relation = world.relation(table, child)
    rows = [row for row in world.where(table, own) if world.children(row, relation, cond)]
    return pick(rows, [world.column(table, one), world.column(table, two)])


@reads(
    "own_or_child",
    rf"{VERB} the <label:column> of every <noun:noun> [own] or (?:who|that) has at "
    r"least one <child:child> [cond]\. Name each (?P=noun) once\.",
)
def own_or_child(world, label, noun, own, child, cond):
    table = world.table(noun)
    relation, test = world.relation(table, child), world.condition(table, own)
    rows = [r for r in world.where(table) if test(r) or world.children(r, relation, cond)]
    return pick(rows, [world.column(table, label)])


@reads(
    "in_both",
    r"Which <values:columns> occur both among the <plural:plural> [first] and among the "
    r"(?P=plural) [second]\?",
)
def in_both(world, values, plural, first, second):
    sets = [set(distinct_values(world, values, plural, each)) for each in (first, second)]
    return sorted(sets[0] & sets[1])


@reads(
    "beyond_all",
    rf"{VERB} the <label:column> and the <kind:column> of every <noun:noun> whose "
    r"<measure:column> is (?P<word>\w+ than) that of every (?P=noun) whose (?P=kind) is "
    r"'(?P<value>.+)'\.",
)
def beyond_all(world, label, kind, noun, measure, word, value):
    table = world.table(noun)
    name, compare = world.column(table, measure), operator.gt if word in MORE else operator.lt
    others = [row[name] for row in world.where(table) if row[world.column(table, kind)] == value]
    rows = [row for row in world.where(table) if all(compare(row[name], o) for o in others)]
    return pick(rows, [world.column(table, label), world.column(table, kind)])


# --- Extra ---------------------------------------------------------------------------------------


@reads(
    "extreme_of_each_group",
    r"For each <kind:column> of the <plural:plural>, show the (?P=kind), "
    r"and the <label:column> and <measure:column> of the <noun:noun> with the (?P<word>\w+) "
    r"(?P=measure) among the (?P=plural) of that (?P=kind)\. Where several are tied, show all of "
    r"them\.",
)
def extreme_of_each_group(world, kind, plural, label, measure, noun, word):
    table = world.table(noun)
    assert table == world.table(plural)
    names = [world.column(table, each) for each in (kind, label, measure)]
    result = []
    for rows in grouped(world.where(table), lambda row: row[names[0]]).values():
        best = extreme_first(rows, names[2], word)[0][names[2]]
        result += pick([row for row in rows if row[names[2]] == best], names)
    return result


@reads(
    "ranked_parents",
    r"Add up the <measure:column> of the <many:children> [cond] for every "
    r"<noun:noun> (?:who|that) has any\. Show the <label:column> and the total of the "
    r"(?P<count>\d+) \S+ with the (?P<word>\w+) totals, the (?P=word) first\.",
)
def ranked_parents(world, measure, many, cond, noun, label, count, word):
    table = world.table(noun)
    relation = world.relation(table, many)
    totals = [
        {"label": row[world.column(table, label)],
         "total": sum(c[world.column(relation.child, measure)] for c in found)}
        for row in world.where(table) if (found := world.children(row, relation, cond))
    ]  # fmt: skip
    return pick(extreme_first(totals, "total", word)[: int(count)], ["label", "total"])


@reads(
    "more_than_average_children",
    r"Count the <many:children>(?: (?P<cond>.+?))? of every "
    r"<noun:noun> (?:who|that) has at least one of them\. Show the <label:column> and the count "
    r"for each (?P=noun) whose count is greater than the average of these counts\.",
)
def more_than_average_children(world, many, cond, noun, label):
    counts = count_children(world, noun, many, cond, label, many)
    average = sum(count for _, count in counts) / len(counts)
    return [pair for pair in counts if pair[1] > average]


@reads(
    "one_kind_but_not_the_other",
    rf"{VERB} the <label:column> of every <noun:noun> (?:who|that) "
    r"has at least one <child:child> [first] but no (?P=child) [second]\.",
)
def one_kind_but_not_the_other(world, label, noun, child, first, second):
    table = world.table(noun)
    relation = world.relation(table, child)
    rows = [
        row for row in world.where(table)
        if world.children(row, relation, first) and not world.children(row, relation, second)
    ]  # fmt: skip
    return pick(rows, [world.column(table, label)])


@reads(
    "counts_with_zeros",
    r"For every <noun:noun>, show the <label:column> and the number of "
    r"(?:its|their) <many:children> [cond]\. Include the \S+ (?:who|that) have none, with 0\.",
)
def counts_with_zeros(world, noun, label, many, cond):
    table = world.table(noun)
    relation, name = world.relation(table, many), world.column(table, label)
    return [(row[name], len(world.children(row, relation, cond))) for row in world.where(table)]


@reads(
    "best_group",
    r"Among the <values:columns> that occur for at least (?P<count>\d+) "
    r"<plural:plural>, which one has the (?P<word>\w+) average <measure:column>\? Show the "
    r"<kind:column> and that average\.",
)
def best_group(world, values, count, plural, word, measure, kind):
    table = world.table(plural)
    name = world.column(table, values)
    assert name == world.column(table, kind)
    groups = [
        {"key": key, "mean": aggregate(world, table, f"the average {measure}", rows)}
        for key, rows in grouped(world.where(table), lambda row: row[name]).items()
        if len(rows) >= int(count)
    ]
    return pick(extreme_first(groups, "mean", word)[:1], ["key", "mean"])


@reads(
    "above_group_average",
    rf"{VERB} the <label:column> of every <noun:noun> [own] and whose "
    r"<measure:column> is (?P<word>\w+ than) the average (?P=measure) of all <plural:plural> with "
    r"the same <kind:column>\.",
)
def above_group_average(world, label, noun, own, measure, word, plural, kind):
    table = world.table(noun)
    assert table == world.table(plural)
    group, compare = world.column(table, kind), operator.gt if word in MORE else operator.lt
    means = {
        key: aggregate(world, table, f"the average {measure}", rows)
        for key, rows in grouped(world.where(table), lambda row: row[group]).items()
    }
    name = world.column(table, measure)
    rows = [r for r in world.where(table, own) if compare(r[name], means[r[group]])]
    return pick(rows, [world.column(table, label)])


@reads(
    "all_but",
    rf"{VERB} the <label:column> of every <noun:noun> (?:who|that) has at least one "
    r"<child:child> [first], except those (?:who|that) have any (?P=child) [second]\. Name each "
    r"(?P=noun) once\.",
)
def all_but(world, label, noun, child, first, second):
    return one_kind_but_not_the_other(world, label, noun, child, first, second)


@reads(
    "both_kinds",
    rf"{VERB} the <label:column> of every <noun:noun> (?:who|that) has at least one "
    r"<child:child> [first] and also at least one (?P=child) [second]\. Name each (?P=noun) "
    r"once\.",
)
def both_kinds(world, label, noun, child, first, second):
    table = world.table(noun)
    relation = world.relation(table, child)
    rows = [
        row for row in world.where(table)
        if world.children(row, relation, first) and world.children(row, relation, second)
    ]  # fmt: skip
    return pick(rows, [world.column(table, label)])


@reads(
    "grandchildren",
    r"For every <noun:noun>, count the <few:children> [cond] over all "
    r"(?:its|their) <many:children> together\. Show the <label:column> and the count where the "
    r"count is at least (?P<count>\d+)\.",
)
def grandchildren(world, noun, few, cond, many, label, count):
    table = world.table(noun)
    upper = world.relation(table, many)
    lower = world.relation(upper.child, few)
    counts = [
        (row[world.column(table, label)],
         sum(len(world.children(c, lower, cond)) for c in world.children(row, upper)))
        for row in world.where(table)
    ]  # fmt: skip
    return [pair for pair in counts if pair[1] >= int(count)]
