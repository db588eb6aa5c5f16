use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// What the server answers to a query, all of it as text; no client library is worth a dependency here.
fn ask(cluster: &Cluster, query: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", cluster.port))?;
    let hello = format!("\0\u{3}\0\0user\0{ROLE}\0database\0postgres\0\0");
    stream.write_all(&with_length(&hello))?;
    stream.write_all(b"Q")?;
    stream.write_all(&with_length(&format!("{query}\0")))?;
    stream.write_all(b"X\0\0\0\x04")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn with_length(message: &str) -> Vec<u8> {
    let length = u32::try_from(message.len() + 4).unwrap();
    [&length.to_be_bytes(), message.as_bytes()].concat()
}

/// Making a data folder takes longer than everything else here, so these two clusters are used for as much as they can be.
#[test]
fn two_clusters_are_apart_outlive_restarts_and_leave_nothing() {
    let durable = thread::spawn(|| Cluster::durable().unwrap());
    let (mut tests, durable) = (Cluster::start().unwrap(), durable.join().unwrap());
    settings_differ_in_what_a_power_failure_may_take(&tests, &durable);
    data_and_url_outlive_restarts(&mut tests);
    assert!(ask(&durable, "select from kept").unwrap().contains("does not exist"));
    a_taken_port_is_exchanged_for_another(&mut tests, &durable);
    leaves_nothing(durable);
    tests.stop(Shutdown::Fast).unwrap();
    leaves_nothing(tests);
}

fn settings_differ_in_what_a_power_failure_may_take(tests: &Cluster, durable: &Cluster) {
    for (cluster, fsync) in [(tests, "off"), (durable, "on")] {
        for (setting, value) in [
            ("fsync", fsync),
            ("synchronous_commit", "on"),
            ("max_connections", "500"),
            ("server_encoding", "UTF8"),
        ] {
            let answer = ask(cluster, &format!("select '<' || current_setting('{setting}') || '>'")).unwrap();
            assert!(answer.contains(&format!("<{value}>")), "{setting}: {answer:?}");
        }
    }
}

fn data_and_url_outlive_restarts(cluster: &mut Cluster) {
    let url = cluster.url("postgres");
    ask(cluster, "create table kept (word text)").unwrap();
    for how in [Shutdown::Fast, Shutdown::Immediate] {
        ask(cluster, &format!("insert into kept values ('after {how:?}')")).unwrap();
        cluster.stop(how).unwrap();
        assert!(ask(cluster, "select 1").is_err(), "it still answers after {how:?}");
        cluster.start_again().unwrap();
        let answer = ask(cluster, "select word from kept").unwrap();
        assert!(answer.contains(&format!("after {how:?}")), "{answer:?}");
    }
    assert_eq!(cluster.url("postgres"), url);
}

fn a_taken_port_is_exchanged_for_another(cluster: &mut Cluster, other: &Cluster) {
    let (free, taken) = (cluster.port, other.port);
    cluster.stop(Shutdown::Fast).unwrap();
    fs::remove_file(cluster.log()).unwrap();
    let error = cluster.start_on_one_of([taken]).unwrap_err().to_string();
    assert!(error.contains("taken"), "{error}");
    cluster.start_on_one_of([taken, free]).unwrap();
    assert_eq!(cluster.port, free);
    assert!(ask(cluster, "select 1").unwrap().contains("SELECT 1"));
}

/// Whether it runs or is stopped.
fn leaves_nothing(cluster: Cluster) {
    let (folder, port) = (cluster.folder.path().to_owned(), cluster.port);
    drop(cluster);
    assert!(!folder.exists());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_standby_follows_and_takes_writes_once_it_is_promoted() {
    let cluster = Cluster::start().unwrap();
    ask(&cluster, "create table kept (word text)").unwrap();
    let mut standby = cluster.standby().unwrap();
    ask(&cluster, "insert into kept values ('streamed')").unwrap();
    let begun = Instant::now();
    while !ask(&standby, "select word from kept").unwrap().contains("streamed") {
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing arrives");
    }
    assert!(ask(&standby, "insert into kept values ('no')").unwrap().contains("read-only transaction"));
    drop(cluster);
    standby.promote().unwrap();
    assert!(ask(&standby, "insert into kept values ('yes')").unwrap().contains("INSERT 0 1"));
}

/// Runs this test program again as a process of its own, which makes a cluster and then is killed.
#[test]
fn a_cluster_does_not_outlive_a_killed_process() {
    const ROLE_OF_THE_VICTIM: &str = "COMPANION_TEST_VICTIM";
    const SELF: &str = "postgres::tests::a_cluster_does_not_outlive_a_killed_process";
    if std::env::var_os(ROLE_OF_THE_VICTIM).is_some() {
        let cluster = Cluster::start().unwrap();
        eprintln!("{}", cluster.folder.path().display());
        loop {
            thread::park();
        }
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", SELF, "--nocapture"])
        .env(ROLE_OF_THE_VICTIM, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let folder = first_line(victim.stderr.take().unwrap());
    let folder = std::path::Path::new(&folder);
    assert!(folder.join("data/postmaster.pid").exists(), "{folder:?}");
    victim.kill().unwrap();
    victim.wait().unwrap();
    let start = Instant::now();
    while folder.exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "{folder:?} is still there");
        thread::yield_now();
    }
}

fn first_line(stream: impl std::io::Read) -> String {
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stream), &mut line).unwrap();
    line.trim_end().to_owned()
}
