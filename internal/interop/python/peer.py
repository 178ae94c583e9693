"""Apache Thrift's Python library as a client and as a server of the bookshop.

    peer.py client CALLS PORT TRANSPORT PROTOCOL [SERVICE]
    peer.py server CALLS TRANSPORT PROTOCOL

What `thrift --gen py` makes of the bookshop must be importable. CALLS is a
file with a list of calls: a method, its arguments and the result that is
wanted. The client makes each call and prints the list of results; with SERVICE
it names the service in each call, as TMultiplexedProtocol does. The server
prints its port, and answers each call of the file with the result that stands
beside it, if the arguments are equal.

A result is the JSON of the method's result struct: {"success": ...}, {} for
void, or a declared exception under its field's name; null for oneway, and
{"applicationException": type} for a TApplicationException. Values are written
as Thrum's transcode package writes them with EnumNumbers: binary as base64,
maps with struct keys as lists of pairs.
"""

import base64
import http.server
import json
import logging
import math
import sys

from thrift import TMultiplexedProcessor
from thrift.protocol import TBinaryProtocol, TCompactProtocol, THeaderProtocol, TMultiplexedProtocol
from thrift.server import THttpServer, TServer
from bookshop.common import Base
from bookshop.shop import Shop
from thrift.Thrift import TApplicationException, TException, TMessageType, TType
from thrift.transport import THttpClient, TSocket, TTransport
from thrift.transport.THeaderTransport import THeaderSubprotocolID, THeaderTransformID

TRANSPORTS = {
    "framed": TTransport.TFramedTransportFactory(),
    "unframed": TTransport.TBufferedTransportFactory(),
    "header": TTransport.TTransportFactoryBase(),
    "header-zlib": TTransport.TTransportFactoryBase(),
}
PROTOCOLS = {
    "binary": TBinaryProtocol.TBinaryProtocolFactory(),
    "binary-in-C": TBinaryProtocol.TBinaryProtocolAcceleratedFactory(fallback=False),
    "compact": TCompactProtocol.TCompactProtocolFactory(),
    "compact-in-C": TCompactProtocol.TCompactProtocolAcceleratedFactory(fallback=False),
}
HEADER_PROTOCOLS = {
    "binary": THeaderSubprotocolID.BINARY,
    "compact": THeaderSubprotocolID.COMPACT,
}


class HeaderFactory(THeaderProtocol.THeaderProtocolFactory):
    """Makes protocols in the header transport, compressing if zlib is set."""

    def __init__(self, protocol, zlib):
        super().__init__(default_protocol=HEADER_PROTOCOLS[protocol])
        self.zlib = zlib

    def getProtocol(self, trans):
        proto = super().getProtocol(trans)
        if self.zlib:
            proto.add_transform(THeaderTransformID.ZLIB)
        return proto


def protocol_factory(transport, protocol):
    if transport.startswith("header"):
        return HeaderFactory(protocol, transport == "header-zlib")
    return PROTOCOLS[protocol]


NOT_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_thrift(ttype, args, value):
    """Turns a JSON value into a value of the generated code."""
    if ttype == TType.STRUCT:
        return struct_to_thrift(args[0], value)
    if ttype == TType.LIST:
        return [to_thrift(args[0], args[1], v) for v in value]
    if ttype == TType.SET:
        return {to_thrift(args[0], args[1], v) for v in value}
    if ttype == TType.MAP:
        if isinstance(value, dict):
            value = [(key_from_text(args[0], k), v) for k, v in value.items()]
        return {to_thrift(args[0], args[1], k): to_thrift(args[2], args[3], v) for k, v in value}
    if ttype == TType.STRING and args == "BINARY":
        return base64.b64decode(value, validate=True)
    if ttype == TType.DOUBLE:
        return NOT_NUMBERS[value] if isinstance(value, str) else float(value)
    return value


def struct_to_thrift(cls, value):
    fields = {f[2]: to_thrift(f[1], f[3], value[f[2]]) for f in cls.thrift_spec if f and f[2] in value}
    unknown = set(value) - set(fields)
    if unknown:
        raise ValueError("%s has no field %s" % (cls.__name__, unknown))
    return cls(**fields)


def key_from_text(ttype, text):
    if ttype == TType.STRING:
        return text
    if ttype == TType.BOOL:
        return {"true": True, "false": False}[text]
    return float(text) if ttype == TType.DOUBLE else int(text)


def to_json(ttype, args, value):
    """Turns a value of the generated code into a JSON value."""
    if ttype == TType.STRUCT:
        return struct_to_json(value)
    if ttype in (TType.LIST, TType.SET):
        return [to_json(args[0], args[1], v) for v in value]
    if ttype == TType.MAP:
        pairs = [[to_json(args[0], args[1], k), to_json(args[2], args[3], v)] for k, v in value.items()]
        if args[0] in (TType.STRUCT, TType.LIST, TType.SET, TType.MAP):
            return pairs
        return {key_to_text(k): v for k, v in pairs}
    if ttype == TType.STRING and args == "BINARY":
        return base64.b64encode(value).decode()
    if ttype == TType.DOUBLE and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def struct_to_json(value):
    out = {}
    for field in value.thrift_spec:
        if field and getattr(value, field[2]) is not None:
            out[field[2]] = to_json(field[1], field[3], getattr(value, field[2]))
    return out


def key_to_text(key):
    return key if isinstance(key, str) else json.dumps(key)


def args_of(method):
    return generated(method + "_args")


def result_of(method):
    return generated(method + "_result")


def generated(name):
    return next((getattr(m, name) for m in (Shop, Base) if hasattr(m, name)), None)


def connect(port, transport):
    if transport == "http":
        wire = THttpClient.THttpClient("http://127.0.0.1:%s/" % port)
        wire.setTimeout(20000)
        return wire
    socket = TSocket.TSocket("127.0.0.1", int(port))
    socket.setTimeout(20000)
    return TRANSPORTS[transport].getTransport(socket)


def client(calls, port, transport, protocol, multiplexed=None):
    wire = connect(port, transport)
    proto = protocol_factory(transport, protocol).getProtocol(wire)
    if multiplexed:
        proto = TMultiplexedProtocol.TMultiplexedProtocol(proto, multiplexed)
    wire.open()
    shop = Shop.Client(proto)
    results = [call(shop, proto, c) for c in calls]
    wire.close()
    json.dump(results, sys.stdout)


def call(shop, proto, c):
    """Makes one call and returns the JSON of its result struct; None for oneway."""
    method = c["method"]
    try:
        if not hasattr(shop, method):
            return call_unknown(proto, method)
        args = struct_to_thrift(args_of(method), c["args"])
        positional = [getattr(args, f[2]) for f in args.thrift_spec if f]
        success = getattr(shop, method)(*positional)
    except TApplicationException as e:
        return {"applicationException": e.type}
    except TException as e:
        return {field_of(result_of(method), e): struct_to_json(e)}
    result = result_of(method)
    if result is None:
        return None
    return struct_to_json(result(success=success)) if success is not None else {}


def call_unknown(proto, method):
    """Calls a method that the generated client does not have, without arguments."""
    proto.writeMessageBegin(method, TMessageType.CALL, 7)
    proto.writeStructBegin("args")
    proto.writeFieldStop()
    proto.writeStructEnd()
    proto.writeMessageEnd()
    proto.trans.flush()
    _, kind, seqid = proto.readMessageBegin()
    if kind != TMessageType.EXCEPTION or seqid != 7:
        raise ValueError("reply to an unknown method: kind %d, seqid %d" % (kind, seqid))
    e = TApplicationException()
    e.read(proto)
    proto.readMessageEnd()
    return {"applicationException": e.type}


def field_of(result, exception):
    return next(f[2] for f in result.thrift_spec if f and f[1] == TType.STRUCT and f[3][0] is type(exception))


class Replay:
    """A handler that answers from the file of calls."""

    def __init__(self, calls):
        self.calls = calls

    def __getattr__(self, method):
        args_class = args_of(method)

        def handle(*positional):
            names = [f[2] for f in args_class.thrift_spec if f]
            got = struct_to_json(args_class(**dict(zip(names, positional))))
            for c in self.calls:
                if c["method"] == method and same(got, struct_to_json(struct_to_thrift(args_class, c["args"]))):
                    return self.answer(method, c["want"])
            print("no call of %s has the arguments %s" % (method, json.dumps(got)), file=sys.stderr)
            raise TApplicationException(TApplicationException.INTERNAL_ERROR, "no such call")

        return handle

    def answer(self, method, want):
        if not want:
            return None
        if "applicationException" in want:
            raise TApplicationException(want["applicationException"], "as the file says")
        result = struct_to_thrift(result_of(method), want)
        for field in result.thrift_spec:
            value = getattr(result, field[2]) if field else None
            if isinstance(value, TException):
                raise value
        return result.success


def same(a, b):
    """Compares JSON values; lists may be sets, so their order is free."""
    return order(a) == order(b)


def order(value):
    if isinstance(value, dict):
        return {k: order(v) for k, v in value.items()}
    if isinstance(value, list):
        return sorted((order(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    return value


class AnyName(TMultiplexedProcessor.TMultiplexedProcessor):
    """Serves the bookshop under its name and without one."""

    def __init__(self, processor):
        super().__init__()
        self.registerProcessor("Shop", processor)
        self.registerDefault(processor)


class QuietHTTPServer(http.server.ThreadingHTTPServer):
    """Serves several connections, and writes no line for each request."""

    def __init__(self, address, handler):
        handler.log_message = lambda *_: None
        super().__init__(address, handler)


def server(calls, transport, protocol):
    logging.disable()  # the library logs the exceptions that the file asks for
    processor = AnyName(Shop.Processor(Replay(calls)))
    if transport == "http":
        web = THttpServer.THttpServer(
            processor, ("127.0.0.1", 0), protocol_factory(transport, protocol), server_class=QuietHTTPServer
        )
        print(web.httpd.server_address[1], flush=True)
        web.serve()
    listener = TSocket.TServerSocket("127.0.0.1", 0)
    listener.listen()
    print(listener.handle.getsockname()[1], flush=True)
    listener.listen = lambda: None  # TServer.serve listens once more
    TServer.TThreadedServer(
        processor, listener, TRANSPORTS[transport], protocol_factory(transport, protocol), daemon=True
    ).serve()


def main(role, calls, *rest):
    with open(calls) as f:
        calls = json.load(f)
    {"client": client, "server": server}[role](calls, *rest)


if __name__ == "__main__":
    main(*sys.argv[1:])
