// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/model/initial.h"

namespace trainyard::model {

std::vector<double> initial(const Model& model) {
  std::vector<double> values(static_cast<std::size_t>(model.elements + model.state_elements));
  const auto tensor = [&](std::int64_t first, std::int64_t count) {
    return compute::Tensor{
        base::DType::fp64, {count}, reinterpret_cast<std::byte*>(values.data() + first)};
  };
  initialize(
      model, 7, tensor(0, model.elements),
      model.state_elements > 0 ? tensor(model.elements, model.state_elements) : compute::Tensor{});
  return values;
}

}  // namespace trainyard::model
