// SPDX-License-Identifier: GPL-3.0-or-later
// Messages of a variant as JSON documents: {"type": TITLE, and the fields of the message}, by the
// field tables of the alternatives. For sources that define these tables.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <variant>

#include "core/base/fields.h"
#include "core/base/json.h"

namespace trainyard::session {

template <class Message>
std::string text_of_message(const Message& message) {
  return std::visit(
      [](const auto& one) {
        base::Json json = base::write_document(one);
        json["type"] = base::Fields<std::remove_cvref_t<decltype(one)>>::title;
        return base::to_text(json);
      },
      message);
}

namespace detail {

// Reads the message into the alternative whose title is `type`.
template <class Message, std::size_t index = 0>
std::optional<Message> read_message(const std::string& type, const base::Json& json,
                                    base::Problems& problems) {
  if constexpr (index < std::variant_size_v<Message>) {
    using One = std::variant_alternative_t<index, Message>;
    if (type != base::Fields<One>::title)
      return read_message<Message, index + 1>(type, json, problems);
    One message;
    base::read_document(json, message, "", problems);
    return message;
  } else {
    return std::nullopt;
  }
}

}  // namespace detail

// `peer`: the `where` of problems.
template <class Message>
base::Result<Message> message_from_text(const std::string& text, const std::string& peer) {
  const auto bad = [&](const std::string& what) {
    return base::fail({"bad_message", base::ProblemCode::bad_input, peer, what, "", ""});
  };
  auto json = base::parse_json(text, peer);
  if (!json) return bad("a message of the host is not JSON");
  if (!json->is_object() || !json->contains("type") || !json->at("type").is_string())
    return bad("a message of the host has no type");
  const std::string type = json->at("type").get<std::string>();
  json->erase("type");
  base::Problems problems;
  auto message = detail::read_message<Message>(type, *json, problems);
  if (!message) return bad(fmt::format("the host sent an unknown message \"{}\"", type));
  if (!problems.empty())
    return bad(fmt::format("the message \"{}\" of the host is wrong: {}", type,
                           base::to_string(problems.front())));
  return std::move(*message);
}

}  // namespace trainyard::session
