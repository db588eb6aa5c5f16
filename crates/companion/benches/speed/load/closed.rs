//! As many requests as the server answers: each connection sends the next when the last was answered.

use super::{Load, Outcome, requests::Requests};
use crate::answers::Answers;
use std::{cell::Cell, rc::Rc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::LocalSet,
    time::Instant,
};

/// What all connections share.
struct Crowd {
    load: Load,
    requests: Requests,
    next: Cell<usize>,
    over: Cell<bool>,
}

pub(super) fn run(load: &Load, requests: Requests) -> anyhow::Result<Outcome> {
    let crowd = Rc::new(Crowd { load: load.clone(), requests, next: Cell::new(0), over: Cell::new(false) });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut streams = Vec::new();
        for _ in 0..load.connections {
            let stream = TcpStream::connect(load.address).await?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        let start = Instant::now();
        let connections: Vec<_> = streams
            .into_iter()
            .map(|stream| tokio::task::spawn_local(connection(crowd.clone(), stream)))
            .collect();
        if !load.once {
            tokio::time::sleep(Duration::from_secs_f64(load.seconds)).await;
            crowd.over.set(true);
        }
        let mut requests = 0;
        for connection in connections {
            requests += connection.await??;
        }
        Ok(Outcome { requests, seconds: start.elapsed().as_secs_f64(), median: 0.0, p99: 0.0 })
    })
}

/// One connection until it is over. Returns how many requests it got answers to.
async fn connection(crowd: Rc<Crowd>, mut stream: TcpStream) -> anyhow::Result<u64> {
    let Crowd { load, requests, next, over } = &*crowd;
    let (mut out, mut answers, mut answered) = (Vec::new(), Answers::default(), 0);
    let is_over = || over.get() || (load.once && next.get() >= requests.count());
    while !is_over() {
        out.clear();
        requests.write(next.replace(next.get() + 1), &mut out);
        stream.write_all(&out).await?;
        while !answers.take()? {
            if stream.read_buf(answers.buffer()).await? == 0 {
                anyhow::bail!("the server closed a connection");
            }
        }
        answered += 1;
    }
    Ok(answered)
}
