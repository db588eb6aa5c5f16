//! A code is worth one session, whichever nodes it is sent to.

use super::Nodes;
use companion_dev_identity::Route;
use std::thread;

const ROUNDS: u64 = 10;
const POSTS_TO_EACH_NODE: usize = 4;

#[test]
fn of_all_who_post_one_code_to_all_nodes_one_gets_the_session_and_the_platform_is_asked_once() {
    let nodes = Nodes::start();
    let control = nodes.stage.platform();
    let posts = POSTS_TO_EACH_NODE * nodes.all.len();
    for round in 1..=ROUNDS {
        let code = control.mint_code(round);
        let mut statuses: Vec<_> = thread::scope(|scope| {
            let posting: Vec<_> = (0..POSTS_TO_EACH_NODE)
                .flat_map(|_| &nodes.all)
                .map(|node| scope.spawn(|| node.post(&code).status))
                .collect();
            posting.into_iter().map(|post| post.join().unwrap()).collect()
        });
        statuses.sort_unstable();
        let mut expected = vec![401; posts];
        expected[0] = 200;
        assert_eq!(statuses, expected);
        for node in &nodes.all {
            assert_eq!(node.post(&code).body["data"]["error"], "idp_code_invalid");
        }
        assert_eq!(control.calls(Route::Token), round);
    }
    println!(
        "{ROUNDS} codes, each posted {posts} times over three nodes: {ROUNDS} sessions, {ROUNDS} exchanges"
    );
}
