// SPDX-License-Identifier: GPL-3.0-or-later
// Stubs that are compiled instead of the other source files if Gloo is not in the build.
#include "backends/gloo/gloo.h"

namespace trainyard::gloo {

base::Result<std::unique_ptr<comm::BoundCollectives>> bind(const Options&) {
  return base::fail({"engine_not_built", base::ProblemCode::unavailable, "strategy.engine",
                     "this build of Trainyard does not contain Gloo", "own",
                     "Install libgloo-dev and configure again with -DTRAINYARD_GLOO=ON."});
}

std::string version() { return ""; }

bool supports(comm::CollectiveKind, base::Reduction, base::DType) { return false; }

}  // namespace trainyard::gloo
