//! Apache Thrift's Rust library as a client and as a server of the bookshop.
//!
//!     peer TRANSPORT PROTOCOL SERVICE PORT TRANSPORT PROTOCOL SERVICE
//!
//! It serves the bookshop in the first three's dialect, prints its port, and
//! forwards each call to the server at PORT in the other's: a server and a
//! client, both of generated code. SERVICE is the name in the multiplexed
//! protocol, or empty. rust.sh puts what `thrift --gen rs` makes of
//! testdata/peer.thrift beside this file.

// The generated modules refer to each other from the root of the crate.
#[allow(dead_code)]
mod common;
#[allow(dead_code)]
mod peer;
#[allow(dead_code)]
mod shop;

use std::collections::BTreeMap;
use std::env;
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TCompactInputProtocol, TCompactOutputProtocol,
    TInputProtocol, TMultiplexedOutputProtocol, TOutputProtocol,
};
use thrift::server::{TMultiplexedProcessor, TProcessor};
use thrift::transport::{
    TBufferedReadTransport, TBufferedWriteTransport, TFramedReadTransport, TFramedWriteTransport,
    TIoChannel, TReadTransport, TTcpChannel, TWriteTransport,
};
use thrift::OrderedFloat;

use common::{BaseSyncHandler, TBaseSyncClient};
use peer::{PeerSyncClient, PeerSyncHandler, PeerSyncProcessor, TPeerSyncClient};
use shop::{ShopSyncHandler, TShopSyncClient};

type In = Box<dyn TInputProtocol + Send>;
type Out = Box<dyn TOutputProtocol + Send>;

struct Dialect {
    transport: String,
    protocol: String,
    service: String,
}

fn dialect(args: &[String]) -> Dialect {
    Dialect { transport: args[0].clone(), protocol: args[1].clone(), service: args[2].clone() }
}

/// Makes the protocols over a connection.
fn protocols(stream: TcpStream, d: &Dialect) -> thrift::Result<(In, Out)> {
    let (r, w) = TTcpChannel::with_stream(stream).split()?;
    let (r, w): (Box<dyn TReadTransport + Send>, Box<dyn TWriteTransport + Send>) =
        match d.transport.as_str() {
            "unframed" => (
                Box::new(TBufferedReadTransport::new(r)),
                Box::new(TBufferedWriteTransport::new(w)),
            ),
            "framed" => (
                Box::new(TFramedReadTransport::new(r)),
                Box::new(TFramedWriteTransport::new(w)),
            ),
            other => return Err(format!("transport {}", other).into()),
        };
    Ok(match d.protocol.as_str() {
        "compact" => (Box::new(TCompactInputProtocol::new(r)), Box::new(TCompactOutputProtocol::new(w))),
        _ => (Box::new(TBinaryInputProtocol::new(r, true)), Box::new(TBinaryOutputProtocol::new(w, true))),
    })
}

/// Forwards each call with a client.
struct Forwarder(Mutex<PeerSyncClient<In, Out>>);

/// Implements handlers by the client's methods of the same names.
macro_rules! forward {
    ($($handle:ident => $call:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $handle(&self, $($arg: $type),*) -> thrift::Result<$result> {
            self.0.lock().unwrap().$call($($arg),*)
        })*
    };
}

impl BaseSyncHandler for Forwarder {
    forward! {
        handle_version => version() -> String;
        handle_ping => ping() -> ();
        handle_note => note(line: String) -> ();
    }
}

impl ShopSyncHandler for Forwarder {
    forward! {
        handle_get_book => get_book(id: i64, currency: common::Currency) -> shop::Book;
        handle_search => search(search: shop::Search) -> Vec<shop::Book>;
        handle_cover => cover(id: i64) -> Vec<u8>;
        handle_viewed => viewed(id: i64, by: String) -> ();
        handle_subjects => subjects() -> shop::Subject;
        handle_shelves => shelves() -> BTreeMap<shop::Shelf, Vec<i64>>;
        handle_stock => stock(ids: Vec<i64>) -> BTreeMap<i64, i32>;
        handle_place_order => place_order(customer: String, draft: shop::Draft) -> shop::Order;
        handle_get_order => get_order(id: i64) -> shop::Order;
        handle_redirect => redirect(id: i64, delivery: shop::Delivery) -> shop::Order;
        handle_cancel_order => cancel_order(id: i64, reason: String) -> ();
        handle_echo => echo(value: shop::Everything) -> shop::Everything;
        handle_describe => describe(flag: bool, tiny: i8, small: i16, medium: i32, large: i64,
            ratio: OrderedFloat<f64>, text: String, data: Vec<u8>, format: shop::Format,
            words: Vec<String>, counts: BTreeMap<String, i32>) -> String;
        handle_drill => drill(how: shop::Failure) -> i32;
    }
}

impl PeerSyncHandler for Forwarder {
    forward! {
        handle_fly => fly() -> ();
    }
}

fn connect(port: &str, d: &Dialect) -> thrift::Result<Forwarder> {
    let stream = TcpStream::connect(format!("127.0.0.1:{}", port))?;
    stream.set_nodelay(true)?;
    let (i, mut o) = protocols(stream, d)?;
    if !d.service.is_empty() {
        o = Box::new(TMultiplexedOutputProtocol::new(&d.service, o));
    }
    Ok(Forwarder(Mutex::new(PeerSyncClient::new(i, o))))
}

/// Serves connections one after another: the library's own server does not
/// tell which port it has got.
fn serve(d: &Dialect, handler: Forwarder) -> thrift::Result<()> {
    let processor = PeerSyncProcessor::new(handler);
    let processor: Box<dyn TProcessor + Send + Sync> = if d.service.is_empty() {
        Box::new(processor)
    } else {
        let mut multiplexed = TMultiplexedProcessor::new();
        multiplexed.register(&d.service, Box::new(processor), false)?;
        Box::new(multiplexed)
    };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    for stream in listener.incoming() {
        let stream = stream?;
        stream.set_nodelay(true)?;
        let (mut i, mut o) = protocols(stream, d)?;
        while processor.process(&mut *i, &mut *o).is_ok() {}
    }
    Ok(())
}

fn main() -> thrift::Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    if args.len() != 7 {
        return Err(format!("seven arguments, not {}", args.len()).into());
    }
    serve(&dialect(&args), connect(&args[3], &dialect(&args[4..]))?)
}
