//! CloudWeGo's Rust library, Volo, as a client and as a server of the bookshop.
//!
//!     peer TRANSPORT PROTOCOL SERVICE PORT TRANSPORT PROTOCOL SERVICE
//!
//! It serves the bookshop, in every dialect that it finds, prints its port, and
//! forwards each call to the server at PORT in the dialect of the last three: a
//! server and a client, both of generated code. Volo knows no multiplexed
//! protocol, so SERVICE is empty.

mod gen {
    include!(concat!(env!("OUT_DIR"), "/volo_gen.rs"));
    pub use volo_gen::{peer, shop};
}

use std::env;
use std::net::SocketAddr;
use std::time::Duration;

use gen::peer::{Peer, PeerClient, PeerClientBuilder, PeerServer};
use gen::shop::{self, common};
use pilota::{AHashMap, Bytes, FastStr};
use volo::net::incoming::DefaultIncoming;
use volo_thrift::codec::default::framed::MakeFramedCodec;
use volo_thrift::codec::default::thrift::{MakeThriftCodec, Protocol};
use volo_thrift::codec::default::ttheader::MakeTTHeaderCodec;
use volo_thrift::codec::default::DefaultMakeCodec;
use volo_thrift::{ApplicationException, ApplicationExceptionKind, ClientError, MaybeException, ServerError};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Forwards each call with a client.
struct Forwarder(PeerClient);

/// What a server answers when its own call has failed.
fn passed_on(e: ClientError) -> ServerError {
    match e {
        ClientError::Application(e) => e.into(),
        ClientError::Biz(e) => e.into(),
        other => ApplicationException::new(ApplicationExceptionKind::INTERNAL_ERROR, other.to_string()).into(),
    }
}

/// Implements methods by the client's of the same names.
macro_rules! forward {
    ($($call:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(async fn $call(&self, $($arg: $type),*) -> Result<$result, ServerError> {
            self.0.$call($($arg),*).await.map_err(passed_on)
        })*
    };
}

impl Peer for Forwarder {
    forward! {
        version() -> FastStr;
        ping() -> ();
        note(line: FastStr) -> ();
        get_book(id: common::BookId, currency: common::Currency)
            -> MaybeException<shop::Book, shop::ShopGetBookException>;
        search(search: shop::Search) -> Vec<shop::Book>;
        cover(id: common::BookId) -> MaybeException<Bytes, shop::ShopCoverException>;
        viewed(id: common::BookId, by: FastStr) -> ();
        subjects() -> shop::Subject;
        shelves() -> AHashMap<shop::Shelf, Vec<common::BookId>>;
        stock(ids: Vec<common::BookId>) -> AHashMap<common::BookId, i32>;
        place_order(customer: FastStr, draft: shop::Draft)
            -> MaybeException<shop::Order, shop::ShopPlaceOrderException>;
        get_order(id: i64) -> MaybeException<shop::Order, shop::ShopGetOrderException>;
        redirect(id: i64, delivery: shop::Delivery)
            -> MaybeException<shop::Order, shop::ShopRedirectException>;
        cancel_order(id: i64, reason: FastStr) -> MaybeException<(), shop::ShopCancelOrderException>;
        echo(value: shop::Everything) -> shop::Everything;
        describe(flag: bool, tiny: i8, small: i16, medium: i32, large: i64, ratio: f64,
            text: FastStr, data: Bytes, format: shop::Format, words: Vec<FastStr>,
            counts: AHashMap<FastStr, i32>) -> FastStr;
        drill(how: shop::Failure) -> MaybeException<i32, shop::ShopDrillException>;
        fly() -> ();
    }
}

fn connect(port: &str, transport: &str, protocol: &str) -> Result<PeerClient, Failure> {
    let address: SocketAddr = format!("127.0.0.1:{}", port).parse()?;
    let builder = PeerClientBuilder::new("shop")
        .address(address)
        .rpc_timeout(Some(Duration::from_secs(20)))
        .read_write_timeout(Some(Duration::from_secs(20)));
    let payload = MakeThriftCodec::default().with_protocol(match protocol {
        "compact" => Protocol::ApacheCompact,
        _ => Protocol::Binary,
    });
    Ok(match transport {
        "unframed" => builder.make_codec(DefaultMakeCodec::new(payload)).build(),
        "framed" => builder.make_codec(DefaultMakeCodec::new(MakeFramedCodec::new(payload))).build(),
        "ttheader" => builder
            .make_codec(DefaultMakeCodec::new(MakeTTHeaderCodec::new(MakeFramedCodec::new(payload))))
            .build(),
        other => return Err(format!("transport {}", other).into()),
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = env::args().skip(1).collect();
    if args.len() != 7 {
        return Err(format!("seven arguments, not {}", args.len()).into());
    }
    let client = connect(&args[3], &args[4], &args[5])?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    PeerServer::new(Forwarder(client)).run(DefaultIncoming::from(listener)).await?;
    Ok(())
}
