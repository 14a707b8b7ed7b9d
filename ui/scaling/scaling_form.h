// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of a sweep of the document: rank counts, algorithms, weak or strong scaling, and steps.
// Until the user edits them, they follow the document: 1, 2, 4, ... and all drawn ranks, with the
// algorithm of the experiment.
#pragma once

#include <QWidget>

#include "core/session/sweep/sweep.h"
#include "ui/model/document/document.h"

class QComboBox;
class QFormLayout;
class QLineEdit;
class QListWidget;
class QSpinBox;

namespace trainyard::ui {

class ScalingForm : public QWidget {
  Q_OBJECT
 public:
  explicit ScalingForm(Document& document, QWidget* parent = nullptr);

  // Returns the settings, or a problem if they are invalid. Does not check whether the document can
  // run.
  base::Result<session::SweepRequest> request() const;
  // returns the maximum number of runs, because some variants may be impossible; 0 if settings are
  // invalid
  std::int64_t runs() const;
  QLineEdit& ranks() { return *ranks_; }
  QListWidget& algorithms() { return *algorithms_; }
  QComboBox& scaling() { return *scaling_; }
  QSpinBox& steps() { return *steps_; }

 signals:
  void changed();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void build();
  void follow_document();
  void tick(collective::Algorithm algorithm, bool on);
  std::vector<collective::Algorithm> ticked() const;
  void fit();

  Document& document_;
  QFormLayout* rows_;
  QLineEdit* ranks_;
  QListWidget* algorithms_;
  QComboBox* scaling_;
  QSpinBox* steps_;
  bool ranks_typed_ = false, algorithms_ticked_ = false;
};

}  // namespace trainyard::ui
