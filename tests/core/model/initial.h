// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

// Its parameters, and then its state, as they are initialized.
std::vector<double> initial(const Model& model);

}  // namespace trainyard::model
