"""A school with courses and exams."""

from budget_envs.tasks.synthetic_sql.columns import (
    HEIGHT,
    SIZE,
    TIME,
    category,
    date,
    key,
    label,
    real,
    reference,
    whole,
)
from budget_envs.tasks.synthetic_sql.schema import Schema, Table
from budget_envs.tasks.synthetic_sql.words import CITIES, FIRST_NAMES, LAST_NAMES

__all__ = ["SCHOOL"]

SCHOOL = Schema("school", (
    Table("teachers", "teacher", "teachers", (
        key("teacher_id", "teacher number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        category("department", "department", "departments",
                 ("Arts", "Languages", "Mathematics", "Science", "Sports")),
        whole("hired_in", "year of hiring", 1990, 2020, comparison=TIME,
              over="hired after {}", under="hired before {}"),
        real("weekly_hours", "number of weekly hours", 10, 30, 0.5, comparison=SIZE, additive=True),
    ), rows=(10, 14), person=True),
    Table("courses", "course", "courses", (
        key("course_id", "course number"),
        label("title", "title", ("Advanced", "Applied", "General", "Introductory", "Practical"),
              ("Algebra", "Biology", "Chemistry", "Drama", "French", "Geometry", "Music",
               "Physics")),
        reference("teacher_id", "teachers", "teacher", "course", "courses"),
        category("weekday", "weekday", "weekdays",
                 ("Friday", "Monday", "Thursday", "Tuesday", "Wednesday")),
        category("room", "room", "rooms", ("A1", "A2", "B1", "B2", "C1"), nullable=0.2),
        whole("credits", "number of credits", 1, 8, additive=True,
              over="with more than {} credits", under="with fewer than {} credits"),
        real("fee", "fee", 0, 120, 2.5, additive=True),
    ), rows=(16, 24)),
    Table("students", "student", "students", (
        key("student_id", "student number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        category("home_town", "home town", "home towns", CITIES[3:12]),
        whole("grade_level", "grade level", 7, 12, comparison=HEIGHT),
        date("born_on", "date of birth", -3600, -1500,
             over="born after {}", under="born before {}"),
        real("height_cm", "height in centimeters", 140, 195, 0.5, nullable=0.15),
    ), rows=(24, 32), person=True),
    Table("exams", "exam", "exams", (
        key("exam_id", "exam number"),
        reference("student_id", "students", "student", "exam", "exams"),
        reference("course_id", "courses", "course", "exam", "exams"),
        date("exam_date", "exam date", 1800, 2100,
             over="taken after {}", under="taken before {}"),
        real("score", "score", 20, 100, 0.5),
        whole("mistakes", "number of mistakes", 0, 25, additive=True,
              over="with more than {} mistakes", under="with fewer than {} mistakes"),
        category("kind", "kind", "kinds", ("final", "midterm", "oral", "quiz")),
    ), rows=(55, 80)),
))  # fmt: skip
