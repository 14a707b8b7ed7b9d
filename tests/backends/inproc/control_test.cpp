// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/inproc/control.h"

#include "tests/conformance/control_conformance.h"

namespace trainyard::conformance {
namespace {

ControlBackend inproc_control() {
  return {"inproc", [] {
            const inproc::ControlHub hub;
            return ControlPlace{
                [hub]() -> base::Result<std::unique_ptr<ControlServer>> { return hub.server(); },
                [connect = hub.connect()] { return connect("inproc"); }};
          }};
}

INSTANTIATE_TEST_SUITE_P(inproc, ControlConformance, testing::Values(inproc_control()),
                         name_of_backend);

}  // namespace
}  // namespace trainyard::conformance
