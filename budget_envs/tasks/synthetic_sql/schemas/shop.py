"""An online shop."""

from budget_envs.tasks.synthetic_sql.columns import (
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

__all__ = ["SHOP"]

SHOP = Schema("shop", (
    Table("suppliers", "supplier", "suppliers", (
        key("supplier_id", "supplier number"),
        label("name", "name", ("Acme", "Bright", "Central", "Delta", "Evergreen", "Fox", "Summit",
                               "Union"), ("Goods", "Imports", "Supplies", "Trading", "Works")),
        category("city", "city", "cities", CITIES[5:13]),
        real("score", "quality score", 1, 10, 0.25),
    ), rows=(8, 12)),
    Table("products", "product", "products", (
        key("product_id", "product number"),
        label("name", "name", ("Basic", "Classic", "Compact", "Deluxe", "Double", "Smart"),
              ("Blender", "Chair", "Clock", "Desk", "Kettle", "Lamp", "Radio", "Rug", "Tent")),
        reference("supplier_id", "suppliers", "supplier", "product", "products"),
        category("department", "department", "departments",
                 ("Furniture", "Garden", "Kitchen", "Office", "Sports")),
        category("color", "color", "colors", ("black", "blue", "green", "red", "white"),
                 nullable=0.2),
        real("price", "price", 4, 260, 0.5, additive=True,
             over="that cost more than {}", under="that cost less than {}"),
        whole("stock", "stock", 0, 90, 5, additive=True,
              over="with more than {} pieces in stock", under="with fewer than {} pieces in stock"),
    ), rows=(24, 34)),
    Table("customers", "customer", "customers", (
        key("customer_id", "customer number"),
        label("name", "name", FIRST_NAMES, LAST_NAMES),
        category("city", "city", "cities", CITIES[:10]),
        category("level", "loyalty level", "loyalty levels",
                 ("basic", "gold", "platinum", "silver")),
        date("registered_on", "registration date", 0, 1500,
             over="who registered after {}", under="who registered before {}"),
        whole("points", "number of points", 0, 900, 50, additive=True,
              over="with more than {} points", under="with fewer than {} points"),
    ), rows=(20, 28), person=True),
    Table("purchases", "purchase", "purchases", (
        key("purchase_id", "purchase number"),
        reference("customer_id", "customers", "customer", "purchase", "purchases"),
        reference("product_id", "products", "product", "purchase", "purchases"),
        date("purchase_date", "purchase date", 1500, 2200,
             over="made after {}", under="made before {}"),
        whole("quantity", "quantity", 1, 9, additive=True,
              over="of more than {} pieces", under="of fewer than {} pieces"),
        real("discount", "discount", 0, 20, 0.5, additive=True),
        category("payment", "means of payment", "means of payment",
                 ("card", "cash", "invoice", "voucher")),
    ), rows=(50, 75)),
))  # fmt: skip
