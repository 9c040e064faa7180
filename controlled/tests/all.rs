//! Each of the checks as a test.

use controlled::{searches, stores};

macro_rules! tests {
    ($($module:ident :: $name:ident)*) => {
        $(#[test]
        fn $name() {
            $module::$name();
        })*
    };
}

tests! {
    stores::a_value_changes_while_nobody_reads_it
    stores::threads_agree_on_the_states_of_a_tree
    stores::threads_agree_on_the_parts_of_a_tree
    stores::threads_agree_while_a_tree_grows
    stores::threads_agree_on_hashes
    searches::all_states_are_found
    searches::all_hashes_are_found
    searches::a_reduced_search_ends
    searches::no_step_waits_for_ever
    searches::a_violation_is_found
    searches::all_states_of_a_bound_are_found
    searches::all_hashes_of_a_bound_are_found
    searches::every_bound_is_searched
    searches::a_helper_changes_nothing_of_a_nested_search
}
