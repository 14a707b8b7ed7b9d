// SPDX-License-Identifier: GPL-3.0-or-later
// Cereal archives of message bodies: little-endian, with sizes as 64-bit counts. Cereal's own
// loaders of vectors and strings allocate memory for the stored count before they check it. The
// loaders here first compare each count with the number of remaining bytes.
#pragma once

#include <bit>
#include <cereal/cereal.hpp>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/session/protocol/messages.h"

namespace trainyard::zmq {

static_assert(std::endian::native == std::endian::little,
              "message bodies are copied byte by byte, so the host must be little-endian");

// Exception for an invalid message body. `id` names the kind of error.
struct BadMessage : cereal::Exception {
  BadMessage(const char* kind, const std::string& what) : Exception(what), id(kind) {}
  const char* id;
};

class BodyWriter : public cereal::OutputArchive<BodyWriter, cereal::AllowEmptyClassElision> {
 public:
  // Archive that appends to `body`, which must outlive the archive.
  explicit BodyWriter(std::string& body) : OutputArchive(this), body_(body) {}
  void write(const void* bytes, std::size_t count) {
    body_.append(static_cast<const char*>(bytes), count);
  }

 private:
  std::string& body_;
};

// Archive that reads a body. Throws BadMessage if the body ends too early or holds an
// invalid value.
class BodyReader : public cereal::InputArchive<BodyReader, cereal::AllowEmptyClassElision> {
 public:
  explicit BodyReader(std::span<const std::byte> body) : InputArchive(this), left_(body) {}

  std::size_t left() const { return left_.size(); }
  void read(void* bytes, std::size_t count) {
    if (count > left_.size()) throw BadMessage("message_truncated", "ends too early");
    if (count > 0) std::memcpy(bytes, left_.data(), count);
    left_ = left_.subspan(count);
  }
  // Reads the number of elements of the list that follows. Each element takes at least
  // `element_bytes` bytes, so a number that exceeds the body is refused.
  std::size_t count(std::size_t element_bytes) {
    std::uint64_t claimed = 0;
    read(&claimed, sizeof claimed);
    if (claimed > left_.size() / element_bytes)
      throw BadMessage("bad_count", "has a list with fewer elements than its header states");
    return static_cast<std::size_t>(claimed);
  }

 private:
  std::span<const std::byte> left_;
};

// Maximum number of elements of a list, except a list of raw bytes. Most lists have one element per
// rank. The limit is needed because an element can take many times more bytes in memory than in the
// body.
constexpr std::size_t kMaxListLength = 65'536;

template <class T>
requires std::is_arithmetic_v<T>
void save(BodyWriter& ar, const T& value) { ar.write(&value, sizeof value); }

template <class T>
requires std::is_arithmetic_v<T>
void load(BodyReader& ar, T& value) { ar.read(&value, sizeof value); }

inline void save(BodyWriter& ar, const bool& value) { save(ar, static_cast<std::uint8_t>(value)); }
inline void load(BodyReader& ar, bool& value) {
  std::uint8_t number = 0;
  load(ar, number);
  if (number > 1) throw BadMessage("bad_boolean", "has a boolean that is neither 0 nor 1");
  value = number == 1;
}

inline void save(BodyWriter& ar, const std::string& text) {
  save(ar, std::uint64_t{text.size()});
  ar.write(text.data(), text.size());
}
inline void load(BodyReader& ar, std::string& text) {
  text.resize(ar.count(1));
  ar.read(text.data(), text.size());
}

inline void save(BodyWriter& ar, const std::vector<telemetry::Event>& events) {
  save(ar, std::uint64_t{events.size()});
  ar.write(events.data(), events.size() * sizeof(telemetry::Event));
}
inline void load(BodyReader& ar, std::vector<telemetry::Event>& events) {
  events.resize(ar.count(sizeof(telemetry::Event)));
  ar.read(events.data(), events.size() * sizeof(telemetry::Event));
  for (const telemetry::Event& event : events)
    if (event.kind != telemetry::EventKind::op && event.kind != telemetry::EventKind::metric)
      throw BadMessage("unknown_event", "has an event of an unknown kind");
}

template <class T>
void save(BodyWriter& ar, const std::vector<T>& list) {
  if (list.size() > kMaxListLength)
    throw BadMessage("list_too_long", "has a list that is too long");
  save(ar, std::uint64_t{list.size()});
  for (const T& element : list) ar(element);
}
template <class T>
void load(BodyReader& ar, std::vector<T>& list) {
  const std::size_t count = ar.count(1);
  if (count > kMaxListLength) throw BadMessage("list_too_long", "has a list that is too long");
  list.clear();
  for (std::size_t i = 0; i < count; ++i) ar(list.emplace_back());
}

template <class T>
void save(BodyWriter& ar, const std::optional<T>& value) {
  save(ar, value.has_value());
  if (value) ar(*value);
}
template <class T>
void load(BodyReader& ar, std::optional<T>& value) {
  bool has = false;
  load(ar, has);
  value.reset();
  if (has) ar(value.emplace());
}

// Reads or writes an enum as one byte, from 0 to `last`.
template <class Archive, class Enum>
void in_range(Archive& ar, Enum& value, Enum last) {
  auto number = static_cast<std::uint8_t>(value);
  ar(number);
  if (number > static_cast<std::uint8_t>(last))
    throw BadMessage("unknown_enumerator", "has an unknown enumerator");
  value = static_cast<Enum>(number);
}

}  // namespace trainyard::zmq
