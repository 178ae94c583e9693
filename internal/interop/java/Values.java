import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.thrift.TBase;
import org.apache.thrift.TEnum;
import org.apache.thrift.TFieldIdEnum;
import org.apache.thrift.meta_data.EnumMetaData;
import org.apache.thrift.meta_data.FieldMetaData;
import org.apache.thrift.meta_data.FieldValueMetaData;
import org.apache.thrift.meta_data.ListMetaData;
import org.apache.thrift.meta_data.MapMetaData;
import org.apache.thrift.meta_data.SetMetaData;
import org.apache.thrift.meta_data.StructMetaData;
import org.apache.thrift.protocol.TType;

/**
 * Turns JSON into values of Thrift's generated classes and back, as Thrum's transcode package
 * writes JSON with EnumNumbers.
 */
@SuppressWarnings({"rawtypes", "unchecked"})
final class Values {
  private Values() {}

  static Map<? extends TFieldIdEnum, FieldMetaData> fields(Class cls) {
    try {
      Class.forName(cls.getName(), true, cls.getClassLoader()); // registers its metadata
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
    return FieldMetaData.getStructMetaDataMap(cls);
  }

  static TBase structFromJson(Class cls, JsonObject json) throws Exception {
    TBase out = (TBase) cls.getDeclaredConstructor().newInstance();
    int used = 0;
    for (Map.Entry<? extends TFieldIdEnum, FieldMetaData> f : fields(cls).entrySet()) {
      JsonElement value = json.get(f.getKey().getFieldName());
      if (value != null) {
        out.setFieldValue(f.getKey(), fromJson(f.getValue().valueMetaData, value));
        used++;
      }
    }
    if (used != json.size()) {
      throw new IllegalArgumentException(cls.getName() + " lacks fields of " + json);
    }
    return out;
  }

  static Object fromJson(FieldValueMetaData type, JsonElement json) throws Exception {
    switch (type.type) {
      case TType.BOOL:
        return json.getAsBoolean();
      case TType.BYTE:
        return json.getAsByte();
      case TType.I16:
        return json.getAsShort();
      case TType.I32:
        return json.getAsInt();
      case TType.I64:
        return json.getAsLong();
      case TType.DOUBLE:
        return Double.valueOf(json.getAsString());
      case TType.ENUM:
        return ((EnumMetaData) type).enumClass.getMethod("findByValue", int.class).invoke(null, json.getAsInt());
      case TType.STRING:
        String text = json.getAsString();
        return type.isBinary() ? ByteBuffer.wrap(Base64.getDecoder().decode(text)) : text;
      case TType.STRUCT:
        return structFromJson(((StructMetaData) type).structClass, json.getAsJsonObject());
      case TType.LIST:
        return elements(((ListMetaData) type).elemMetaData, json, new ArrayList<>());
      case TType.SET:
        return elements(((SetMetaData) type).elemMetaData, json, new HashSet<>());
      case TType.MAP:
        return map((MapMetaData) type, json);
      default:
        throw new IllegalArgumentException("type " + type.type);
    }
  }

  private static Object elements(FieldValueMetaData type, JsonElement json, Collection out) throws Exception {
    for (JsonElement e : json.getAsJsonArray()) {
      out.add(fromJson(type, e));
    }
    return out;
  }

  private static Object map(MapMetaData type, JsonElement json) throws Exception {
    Map out = new LinkedHashMap<>();
    if (json.isJsonArray()) {
      for (JsonElement pair : json.getAsJsonArray()) {
        JsonArray kv = pair.getAsJsonArray();
        out.put(fromJson(type.keyMetaData, kv.get(0)), fromJson(type.valueMetaData, kv.get(1)));
      }
      return out;
    }
    for (Map.Entry<String, JsonElement> e : json.getAsJsonObject().entrySet()) {
      // Gson reads numbers and booleans from text as well.
      out.put(fromJson(type.keyMetaData, new JsonPrimitive(e.getKey())), fromJson(type.valueMetaData, e.getValue()));
    }
    return out;
  }

  static JsonObject toJson(TBase struct) {
    JsonObject out = new JsonObject();
    for (Map.Entry<? extends TFieldIdEnum, FieldMetaData> f : fields(struct.getClass()).entrySet()) {
      if (struct.isSet(f.getKey())) {
        out.add(f.getKey().getFieldName(), toJson(struct.getFieldValue(f.getKey())));
      }
    }
    return out;
  }

  static JsonElement toJson(Object value) {
    if (value instanceof TBase) {
      return toJson((TBase) value);
    }
    if (value instanceof TEnum) {
      return new JsonPrimitive(((TEnum) value).getValue());
    }
    if (value instanceof ByteBuffer) {
      ByteBuffer view = ((ByteBuffer) value).duplicate();
      byte[] bytes = new byte[view.remaining()];
      view.get(bytes);
      return toJson(bytes);
    }
    if (value instanceof byte[]) {
      return new JsonPrimitive(Base64.getEncoder().encodeToString((byte[]) value));
    }
    if (value instanceof Collection) {
      JsonArray out = new JsonArray();
      ((Collection) value).forEach(v -> out.add(toJson(v)));
      return out;
    }
    if (value instanceof Map) {
      return toJson((Map<?, ?>) value);
    }
    if (value instanceof Boolean) {
      return new JsonPrimitive((Boolean) value);
    }
    if (value instanceof Double && !Double.isFinite((Double) value)) {
      return new JsonPrimitive(value.toString());
    }
    return value instanceof Number ? new JsonPrimitive((Number) value) : new JsonPrimitive((String) value);
  }

  private static JsonElement toJson(Map<?, ?> map) {
    List<?> keys = new ArrayList<>(map.keySet());
    if (keys.isEmpty() || !(keys.get(0) instanceof TBase)) {
      JsonObject out = new JsonObject();
      map.forEach((k, v) -> out.add(toJson((Object) k).getAsString(), toJson((Object) v)));
      return out;
    }
    JsonArray out = new JsonArray();
    map.forEach(
        (k, v) -> {
          JsonArray pair = new JsonArray();
          pair.add(toJson((Object) k));
          pair.add(toJson((Object) v));
          out.add(pair);
        });
    return out;
  }
}
