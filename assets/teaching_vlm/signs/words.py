"""Words that signs, product labels and receipts print, by what they may stand for; no answer says them of itself."""

from __future__ import annotations

# What a thing is like, before its noun.
QUALITIES = (
    "fresh", "hot", "cold", "sweet", "crispy", "tasty", "fine", "best", "royal", "happy", "sunny",
    "lucky", "quiet", "magic", "golden", "silver", "wild", "warm", "cool", "soft", "strong", "pure",
    "local", "free", "cheap", "modern", "classic", "famous", "grand", "super", "extra", "clean", "dry",
    "safe", "slow", "quick", "private", "public", "secret", "winter", "summer", "spring", "autumn",
    "daily", "smart", "fancy", "mini", "jolly",
)  # fmt: skip
# What is sold by piece: at most five letters, so that a price fits behind it.
ITEMS = (
    "milk", "bread", "eggs", "rice", "tea", "cake", "soup", "fish", "corn", "beans", "jam", "salt",
    "sugar", "honey", "juice", "pasta", "cocoa", "bacon", "onion", "melon", "pizza", "salad", "curry",
    "candy", "soap", "water", "ham", "nuts", "flour", "oil", "figs", "toast", "pie", "chips", "olive",
    "bun",
)  # fmt: skip
# What stands in a jar or on a shelf.
PRODUCTS = (
    "coffee", "butter", "cheese", "pepper", "garlic", "tomato", "yogurt", "vanilla", "mustard",
    "ginger", "cookies", "syrup", "berries", "almonds", "raisins", "noodles", "oats", "pickles",
    "sauce", "cherry", "banana", "lentils", "cereal", "muesli",
)  # fmt: skip
# Where one is or goes.
PLACES = (
    "exit", "park", "beach", "garden", "bridge", "station", "airport", "museum", "library", "hotel",
    "market", "bakery", "cinema", "theater", "stadium", "harbor", "castle", "tower", "lake", "river",
    "forest", "island", "valley", "village", "church", "hospital", "kitchen", "office", "parking",
    "pool", "gym", "bank", "farm", "zoo", "studio", "gallery", "cafe", "bistro", "diner", "pharmacy",
    "florist", "barber", "school", "college", "factory", "garage", "gate", "tunnel",
)  # fmt: skip
# Which of them give receipts.
SHOPS = (
    "market", "bakery", "cafe", "bistro", "diner", "pharmacy", "florist", "hotel", "museum", "cinema",
    "theater", "farm", "kitchen", "garden", "station", "airport", "stadium", "zoo", "library",
    "college",
)  # fmt: skip
# What a sign tells people to do, and what it warns of.
ORDERS = (
    "stop", "wait", "push", "pull", "enter", "slow", "listen", "relax", "smile", "welcome", "hurry",
    "park", "danger", "caution", "warning", "notice", "sorry", "hello", "please", "thanks", "closed",
    "private", "reserved", "sale",
)  # fmt: skip
# What it is about, behind an order or a quality.
THINGS = (
    "dogs", "cats", "horses", "bikes", "trucks", "trains", "buses", "boats", "tickets", "music",
    "flowers", "shoes", "books", "toys", "games", "films", "stairs", "doors", "taxi", "ferry", "metro",
    "road", "street", "corner", "guests", "staff", "kids", "pets", "camping", "fishing", "skating",
    "swimming", "hiking", "parade", "party", "concert", "burger", "sandwich", "dinner", "lunch",
    "snacks", "drinks", "ice", "grill", "repairs", "rooms", "phone", "internet",
)  # fmt: skip
# When.
TIMES = (
    "today", "tonight", "monday", "tuesday", "friday", "saturday", "sunday", "weekend", "morning",
    "noon", "evening", "night",
)  # fmt: skip
UNITS = ("g", "ml", "kg")
TOTAL = "total"

FACT_WORDS = tuple(dict.fromkeys((*QUALITIES, *ITEMS, *PRODUCTS, *PLACES, *ORDERS, *THINGS, *TIMES)))
SIGN_WORDS = (*FACT_WORDS, *UNITS, TOTAL)
