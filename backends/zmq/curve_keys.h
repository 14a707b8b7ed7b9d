// SPDX-License-Identifier: GPL-3.0-or-later
// Keys of CURVE (curve.h), for code that does not use ZeroMQ itself.
#pragma once

#include <string>

#include "core/base/result.h"

namespace trainyard::zmq {

// Keys in Z85: 40 characters each. Both are empty if sockets are not encrypted.
struct CurveKeys {
  std::string public_key, secret_key;
  bool operator==(const CurveKeys&) const = default;
};

base::Result<CurveKeys> make_curve_keys();

}  // namespace trainyard::zmq
