"""Calls the demo's Parcels, field by field, with Apache Thrift's Python library.

    parcel.py PORT UUID

Debian's Thrift compiler, 0.17, knows no uuid, so there is no generated code
for this service; the library's protocol reads and writes uuid all the same.
fbthrift's float (type 19) is none of its types: four bytes are read in its
place. The parcel with that id is printed, and so is its echo.
"""

import json
import struct
import sys
import uuid

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType, TType
from thrift.transport import TSocket, TTransport

FLOAT = 19


def read_float(p):
    return struct.unpack("!f", p.trans.readAll(4))[0]


def read_value(p, ttype):
    if ttype == TType.UUID:
        return str(p.readUuid())
    if ttype == FLOAT:
        return read_float(p)
    if ttype == TType.I64:
        return p.readI64()
    if ttype == TType.STRING:
        return p.readString()
    if ttype == TType.STRUCT:
        return read_struct(p)
    if ttype == TType.LIST:
        element, size = p.readListBegin()
        return [read_value(p, element) for _ in range(size)]
    if ttype == TType.MAP:
        key, value, size = p.readMapBegin()
        return {read_value(p, key): read_value(p, value) for _ in range(size)}
    raise ValueError("type %d" % ttype)


def read_struct(p):
    """Reads a struct as a dict by field id."""
    out = {}
    while True:
        _, ttype, fid = p.readFieldBegin()
        if ttype == TType.STOP:
            return out
        out[fid] = read_value(p, ttype)


def call(p, method, write_args):
    p.writeMessageBegin(method, TMessageType.CALL, 1)
    write_args()
    p.writeFieldStop()
    p.writeMessageEnd()
    p.trans.flush()
    name, kind, seqid = p.readMessageBegin()
    if (name, kind, seqid) != (method, TMessageType.REPLY, 1):
        raise ValueError("reply %s, kind %d, seqid %d" % (name, kind, seqid))
    return read_struct(p)


def main(port, wanted):
    transport = TTransport.TFramedTransport(TSocket.TSocket("127.0.0.1", int(port)))
    transport.open()
    p = TBinaryProtocol(transport)

    def write_id():
        p.writeFieldBegin("id", TType.UUID, 1)
        p.writeUuid(uuid.UUID(wanted))

    def write_parcel():
        p.writeFieldBegin("parcel", TType.STRUCT, 1)
        write_id()
        p.writeFieldBegin("order", TType.I64, 2)
        p.writeI64(7)
        p.writeFieldBegin("weight", FLOAT, 3)
        p.trans.write(struct.pack("!f", 0.1))
        p.writeFieldBegin("to", TType.STRUCT, 4)
        p.writeFieldBegin("lines", TType.LIST, 1)
        p.writeListBegin(TType.STRING, 0)
        p.writeFieldBegin("country", TType.STRING, 2)
        p.writeString("GB")
        p.writeFieldStop()
        p.writeFieldBegin("contents", TType.MAP, 5)
        p.writeMapBegin(TType.UUID, FLOAT, 1)
        p.writeUuid(uuid.UUID(wanted))
        p.trans.write(struct.pack("!f", -2.5))
        p.writeFieldStop()

    json.dump([call(p, "track", write_id), call(p, "echoParcel", write_parcel)], sys.stdout)
    transport.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
