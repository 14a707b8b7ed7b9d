// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/power_sgd.h"

namespace trainyard::model {

compute::compression::PowerSgdLayout power_sgd_layout(const Model& model, std::int64_t first,
                                                      std::int64_t count, std::int64_t rank) {
  std::vector<compute::compression::Matrix> matrices;
  for (const Parameter& parameter : model.parameters) {
    if (parameter.offset < first || parameter.offset >= first + count) continue;
    const std::int64_t rows = parameter.shape.dimensions > 1 ? parameter.shape[0] : 1,
                       elements = parameter.shape.elements();
    matrices.push_back({parameter.offset - first, rows, rows > 0 ? elements / rows : 0});
  }
  return compute::compression::power_sgd_layout(matrices, rank);
}

}  // namespace trainyard::model
