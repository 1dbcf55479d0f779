"""A page is judged by its capture and its replay.

`captured_page` reads what the crawl kept, `resources` compares the requests, and `judgement` compares all and gives
the score. Each reason for a lower score is one of the `findings`.
"""
