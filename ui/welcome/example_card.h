// SPDX-License-Identifier: GPL-3.0-or-later
// Card of an example on the welcome page: a thumbnail, its description, and "Open and run". If its
// data files are missing, the card lists them by folder and offers synthetic digits instead.
#pragma once

#include <QFrame>
#include <optional>

#include "core/experiment/document.h"
#include "ui/theme/tinted_label.h"

class QPushButton;
class QVBoxLayout;

namespace trainyard::ui {

struct Example {
  QString file;
  experiment::Experiment experiment;
  std::optional<base::Problem> missing;  // problem to show if the example's data files are missing
};
// Reads an example. Returns nothing if the file cannot be read.
std::optional<Example> read_example(const QString& file);

class ExampleCard : public QFrame {
  Q_OBJECT
 public:
  explicit ExampleCard(Example example, QWidget* parent = nullptr);
  const Example& example() const { return example_; }
  QPushButton& run_button() { return *run_; }
  QPushButton& open_button() { return *open_; }
  // Disables running, with `why` as the reason. An empty `why` enables running.
  void disable_running(const QString& why);

 signals:
  // Requests to open the experiment and run it. `file`: file of the example. It is empty if the
  // experiment differs from the file and opens as a new document.
  void run_requested(const experiment::Experiment& experiment, const QString& file);
  void open_requested(const QString& file);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void build();
  void add_missing(QVBoxLayout& column, const base::Problem& missing);
  void run();
  QString run_tip() const;
  Example example_;
  QPushButton *run_, *open_;
};

}  // namespace trainyard::ui
