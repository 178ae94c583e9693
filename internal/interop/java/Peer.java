import bookshop.shop.Shop;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Reader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.TBase;
import org.apache.thrift.TException;
import org.apache.thrift.TFieldIdEnum;
import org.apache.thrift.TMultiplexedProcessor;
import org.apache.thrift.TProcessor;
import org.apache.thrift.meta_data.FieldMetaData;
import org.apache.thrift.meta_data.StructMetaData;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TMessageType;
import org.apache.thrift.protocol.TMultiplexedProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.protocol.TStruct;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.THttpClient;
import org.apache.thrift.transport.TIOStreamTransport;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportFactory;
import org.apache.thrift.transport.layered.TFramedTransport;

/**
 * Apache Thrift's Java library as a client and as a server of the bookshop.
 *
 * <pre>
 * Peer client CALLS PORT TRANSPORT binary [SERVICE]
 * Peer server CALLS TRANSPORT binary
 * </pre>
 *
 * <p>It does what python/peer.py does.
 */
@SuppressWarnings({"rawtypes", "unchecked"})
public final class Peer {
  private static final Gson GSON = new GsonBuilder().serializeNulls().create();

  private final JsonArray calls;

  private Peer(JsonArray calls) {
    this.calls = calls;
  }

  public static void main(String[] args) throws Exception {
    Peer peer;
    try (Reader r = Files.newBufferedReader(Path.of(args[1]), StandardCharsets.UTF_8)) {
      peer = new Peer(JsonParser.parseReader(r).getAsJsonArray());
    }
    if (args[0].equals("client")) {
      peer.call(Integer.parseInt(args[2]), args[3], args[4], args.length > 5 ? args[5] : null);
    } else {
      peer.serve(args[2], args[3]);
    }
  }

  private static TTransport connect(String transport, int port) throws TException {
    if (transport.equals("http")) {
      return new THttpClient("http://127.0.0.1:" + port + "/");
    }
    return transport(transport).getTransport(new TSocket("127.0.0.1", port, 20000));
  }

  private static TTransportFactory transport(String name) {
    return name.equals("framed") ? new TFramedTransport.Factory() : new TTransportFactory();
  }

  private static TProtocolFactory protocol(String name) {
    return name.equals("compact") ? new TCompactProtocol.Factory() : new TBinaryProtocol.Factory();
  }

  // The client.

  private void call(int port, String transport, String protocolName, String service) throws Exception {
    JsonArray results = new JsonArray();
    try (TTransport wire = connect(transport, port)) {
      if (!wire.isOpen()) {
        wire.open();
      }
      TProtocol protocol = protocol(protocolName).getProtocol(wire);
      if (service != null) {
        protocol = new TMultiplexedProtocol(protocol, service);
      }
      Shop.Client shop = new Shop.Client(protocol);
      for (JsonElement c : calls) {
        results.add(call(shop, c.getAsJsonObject()));
      }
    }
    System.out.write(GSON.toJson(results).getBytes(StandardCharsets.UTF_8));
    System.out.flush();
  }

  /** Makes one call and returns the JSON of its result struct; null for oneway. */
  private static JsonElement call(Shop.Client shop, JsonObject c) throws Exception {
    String name = c.get("method").getAsString();
    try {
      if (generated(name, "_args") == null) {
        return callUnknown(shop.getOutputProtocol(), name);
      }
      TBase args = Values.structFromJson(generated(name, "_args"), c.getAsJsonObject("args"));
      Object[] values =
          Values.fields(args.getClass()).keySet().stream()
              .sorted((a, b) -> a.getThriftFieldId() - b.getThriftFieldId())
              .map(args::getFieldValue)
              .map(v -> v instanceof byte[] ? ByteBuffer.wrap((byte[]) v) : v)
              .toArray();
      Object success = method(Shop.Client.class, name).invoke(shop, values);
      if (generated(name, "_result") == null) {
        return JsonNull.INSTANCE;
      }
      JsonObject out = new JsonObject();
      if (success != null) {
        out.add("success", Values.toJson(success));
      }
      return out;
    } catch (InvocationTargetException e) {
      return failure(name, e.getCause());
    } catch (TApplicationException e) {
      return failure(name, e);
    }
  }

  private static JsonObject failure(String method, Throwable e) throws Exception {
    JsonObject out = new JsonObject();
    if (e instanceof TApplicationException) {
      out.addProperty("applicationException", ((TApplicationException) e).getType());
      return out;
    }
    for (FieldMetaData f : Values.fields(generated(method, "_result")).values()) {
      if (f.valueMetaData instanceof StructMetaData && ((StructMetaData) f.valueMetaData).structClass == e.getClass()) {
        out.add(f.fieldName, Values.toJson((TBase) e));
        return out;
      }
    }
    throw new IllegalStateException(e);
  }

  /** Calls a method that the generated client does not have, without arguments. */
  private static JsonElement callUnknown(TProtocol p, String name) throws TException {
    p.writeMessageBegin(new TMessage(name, TMessageType.CALL, 7));
    p.writeStructBegin(new TStruct("args"));
    p.writeFieldStop();
    p.writeStructEnd();
    p.writeMessageEnd();
    p.getTransport().flush();
    TMessage reply = p.readMessageBegin();
    if (reply.type != TMessageType.EXCEPTION || reply.seqid != 7) {
      throw new IllegalStateException("reply to an unknown method: " + reply);
    }
    throw TApplicationException.readFrom(p);
  }

  // The server.

  private void serve(String transport, String protocolName) throws Exception {
    Shop.Iface handler =
        (Shop.Iface)
            Proxy.newProxyInstance(
                Peer.class.getClassLoader(),
                new Class<?>[] {Shop.Iface.class},
                (proxy, method, values) -> replay(method.getName(), values == null ? new Object[0] : values));
    TMultiplexedProcessor processor = new TMultiplexedProcessor();
    processor.registerProcessor("Shop", new Shop.Processor<>(handler));
    processor.registerDefault(new Shop.Processor<>(handler));
    if (transport.equals("http")) {
      serveHTTP(processor, protocol(protocolName));
      return;
    }
    TServerSocket listener = new TServerSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    System.out.println(listener.getServerSocket().getLocalPort());
    new TThreadPoolServer(
            new TThreadPoolServer.Args(listener)
                .processor(processor)
                .transportFactory(transport(transport))
                .protocolFactory(protocol(protocolName)))
        .serve();
  }

  /** Does what the library's servlet does, which needs a container, in the JDK's own server. */
  private static void serveHTTP(TProcessor processor, TProtocolFactory protocols) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          ByteArrayOutputStream reply = new ByteArrayOutputStream();
          try {
            TTransport wire = new TIOStreamTransport(exchange.getRequestBody(), reply);
            TProtocol protocol = protocols.getProtocol(wire);
            processor.process(protocol, protocol);
          } catch (TException e) {
            throw new IOException(e);
          }
          exchange.getResponseHeaders().set("Content-Type", "application/x-thrift");
          exchange.sendResponseHeaders(200, reply.size() == 0 ? -1 : reply.size());
          try (OutputStream body = exchange.getResponseBody()) {
            reply.writeTo(body);
          }
        });
    server.start();
    System.out.println(server.getAddress().getPort());
  }

  /** Answers a call as the file says, if its arguments are those of the file. */
  private Object replay(String method, Object[] values) throws Throwable {
    Class argsClass = generated(method, "_args");
    TBase got = (TBase) argsClass.getDeclaredConstructor().newInstance();
    TFieldIdEnum[] fields =
        Values.fields(argsClass).keySet().stream()
            .sorted((a, b) -> a.getThriftFieldId() - b.getThriftFieldId())
            .toArray(TFieldIdEnum[]::new);
    for (int i = 0; i < fields.length; i++) {
      if (values[i] != null) {
        got.setFieldValue(fields[i], values[i]);
      }
    }
    for (JsonElement e : calls) {
      JsonObject c = e.getAsJsonObject();
      if (c.get("method").getAsString().equals(method)
          && same(Values.structFromJson(argsClass, c.getAsJsonObject("args")), got)) {
        return answer(method, c.get("want"));
      }
    }
    System.err.println("no call of " + method + " has the arguments " + got);
    throw new TApplicationException(TApplicationException.INTERNAL_ERROR, "no such call");
  }

  /** Compares by JSON: NaN equals NaN there, as it does not in generated classes. */
  private static boolean same(TBase a, TBase b) {
    return order(Values.toJson(a)).equals(order(Values.toJson(b)));
  }

  /** Sorts all lists, since some are sets. */
  private static JsonElement order(JsonElement json) {
    if (json.isJsonObject()) {
      JsonObject out = new JsonObject();
      new TreeMap<>(json.getAsJsonObject().asMap()).forEach((k, v) -> out.add(k, order(v)));
      return out;
    }
    if (json.isJsonArray()) {
      JsonArray out = new JsonArray();
      json.getAsJsonArray().asList().stream().map(Peer::order).sorted(Comparator.comparing(GSON::toJson)).forEach(out::add);
      return out;
    }
    return json;
  }

  private static Object answer(String method, JsonElement want) throws Throwable {
    if (want.isJsonNull() || want.getAsJsonObject().size() == 0) {
      return null;
    }
    JsonObject json = want.getAsJsonObject();
    if (json.has("applicationException")) {
      throw new TApplicationException(json.get("applicationException").getAsInt(), "as the file says");
    }
    TBase result = Values.structFromJson(generated(method, "_result"), json);
    for (Map.Entry<? extends TFieldIdEnum, FieldMetaData> f : Values.fields(result.getClass()).entrySet()) {
      if (!result.isSet(f.getKey())) {
        continue;
      }
      Object value = result.getFieldValue(f.getKey());
      if (value instanceof Throwable) {
        throw (Throwable) value;
      }
      return value instanceof byte[] ? ByteBuffer.wrap((byte[]) value) : value;
    }
    throw new IllegalStateException("an empty result of " + method);
  }

  /** Returns the generated class of a method's arguments or result, or null. */
  private static Class<?> generated(String method, String suffix) {
    return Arrays.stream(new Class<?>[] {Shop.class, bookshop.common.Base.class})
        .flatMap(c -> Arrays.stream(c.getDeclaredClasses()))
        .filter(c -> c.getSimpleName().equals(method + suffix))
        .findFirst()
        .orElse(null);
  }

  private static Method method(Class<?> cls, String name) {
    return Arrays.stream(cls.getMethods()).filter(m -> m.getName().equals(name)).findFirst().orElseThrow();
  }
}
