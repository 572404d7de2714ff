"""Checks of what every store promises: `for check in CHECKS: await check(empty_store)`.

Each takes an empty store and raises AssertionError, or StoreError, where a promise is broken.
Modules: `reading`, `writers`, `upkeep`, `purging`, `conversations`, `core`, `recall`, `documents`,
`vectors`, `owners`, `people`, `costs`, `budgets`, `exploring` (the checks), `samples` (what they
write).
"""

from collections.abc import Awaitable, Callable

from crew.backends.conformance.budgets import CHECKS as BUDGETS
from crew.backends.conformance.conversations import CHECKS as CONVERSATIONS
from crew.backends.conformance.core import CHECKS as CORE
from crew.backends.conformance.costs import CHECKS as COSTS
from crew.backends.conformance.documents import CHECKS as DOCUMENTS
from crew.backends.conformance.exploring import CHECKS as EXPLORING
from crew.backends.conformance.owners import CHECKS as OWNERS
from crew.backends.conformance.people import CHECKS as PEOPLE
from crew.backends.conformance.purging import (
    newest_runs_keep_their_events,
    revisions_are_kept_while_needed,
    the_newest_revisions_are_kept,
    the_oldest_are_known,
    what_is_old_is_purged,
    what_owners_store_is_known,
)
from crew.backends.conformance.reading import (
    a_key_starts_one_thing,
    a_number_is_given_once,
    a_page_says_whether_it_is_the_last,
    a_refused_write_keeps_no_key,
    a_status_is_compared_and_swapped,
    an_abandoned_write_is_written,
    an_event_joins_on,
    large_events_come_in_small_pages,
    lists_have_short_answers,
    rows_are_found_by_what_they_have,
    rows_are_found_in_whatever_case,
    rows_are_listed_newest_first,
    rows_of_an_owner_are_listed_alone,
    what_is_written_is_read,
)
from crew.backends.conformance.recall import CHECKS as RECALL
from crew.backends.conformance.upkeep import (
    a_segment_keeps_who_began_it,
    a_watch_is_notified,
    acts_are_kept,
    grants_are_kept_until_they_end,
    notices_are_kept_until_they_are_sent,
    pauses_become_due,
    processes_know_of_each_others_listeners,
    schedules_are_taken_further_by_one,
    the_store_says_whether_it_can_be_written,
    viewers_are_known_until_they_end,
    where_runs_are_is_known,
)
from crew.backends.conformance.vectors import CHECKS as VECTORS
from crew.backends.conformance.writers import (
    a_former_writer_is_refused,
    a_retried_run_is_not_cancelled,
    cancellations_are_kept,
    claims_without_progress_are_counted,
    only_running_runs_are_claimed,
)
from crew.journal.store import RunStore

CHECKS: tuple[Callable[[RunStore], Awaitable[None]], ...] = (
    # RunLog
    what_is_written_is_read,
    an_abandoned_write_is_written,
    a_status_is_compared_and_swapped,
    a_number_is_given_once,
    an_event_joins_on,
    a_page_says_whether_it_is_the_last,
    large_events_come_in_small_pages,
    lists_have_short_answers,
    a_former_writer_is_refused,
    only_running_runs_are_claimed,
    claims_without_progress_are_counted,
    rows_are_found_by_what_they_have,
    rows_are_found_in_whatever_case,
    rows_are_listed_newest_first,
    rows_of_an_owner_are_listed_alone,
    a_key_starts_one_thing,
    a_refused_write_keeps_no_key,
    pauses_become_due,
    *EXPLORING,
    # Cancellations
    cancellations_are_kept,
    a_retried_run_is_not_cancelled,
    # Purging
    newest_runs_keep_their_events,
    what_is_old_is_purged,
    the_oldest_are_known,
    what_owners_store_is_known,
    # RevisionLog
    revisions_are_kept_while_needed,
    the_newest_revisions_are_kept,
    # AuditLog
    a_segment_keeps_who_began_it,
    acts_are_kept,
    # GrantLog
    grants_are_kept_until_they_end,
    # Outbox
    notices_are_kept_until_they_are_sent,
    # ScheduleLog
    schedules_are_taken_further_by_one,
    # ViewerLog
    viewers_are_known_until_they_end,
    # ConversationLog, ChoreLog
    *CONVERSATIONS,
    *CORE,
    *RECALL,
    *DOCUMENTS,
    *VECTORS,
    *OWNERS,
    *PEOPLE,
    # CostLog
    *COSTS,
    # BudgetLog
    *BUDGETS,
    # Health
    the_store_says_whether_it_can_be_written,
    # Cluster
    processes_know_of_each_others_listeners,
    a_watch_is_notified,
    where_runs_are_is_known,
)
