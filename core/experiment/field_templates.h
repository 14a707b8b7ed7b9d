// SPDX-License-Identifier: GPL-3.0-or-later
// Declares the instances of field templates for an experiment and its larger parts. Only
// document.cpp instantiates these templates, because each instance takes seconds to compile.
#pragma once

#include "core/base/fields.h"
#include "core/experiment/fields.h"

namespace trainyard::base {

// NOLINTBEGIN(bugprone-macro-parentheses): types and keywords cannot be in parentheses
#define TRAINYARD_FIELD_TEMPLATES(PREFIX, DOCUMENT)                        \
  PREFIX template std::vector<FieldDescription> describe(const DOCUMENT&); \
  PREFIX template Json write_document(const DOCUMENT&);                    \
  PREFIX template void read_document(const Json&, DOCUMENT&, const std::string&, Problems&);
// NOLINTEND(bugprone-macro-parentheses)

TRAINYARD_FIELD_TEMPLATES(extern, experiment::Experiment)
TRAINYARD_FIELD_TEMPLATES(extern, topology::Topology)
TRAINYARD_FIELD_TEMPLATES(extern, topology::Device)
TRAINYARD_FIELD_TEMPLATES(extern, model::LayerSpec)
TRAINYARD_FIELD_TEMPLATES(extern, data::DataSpec)

}  // namespace trainyard::base
