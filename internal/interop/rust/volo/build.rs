//! Generates the code of the bookshop; rust.sh puts the IDL here.
fn main() {
    println!("cargo:rerun-if-changed=peer.thrift");
    volo_build::Builder::thrift().add_service("peer.thrift").write().unwrap();
}
