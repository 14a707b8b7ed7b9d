// SPDX-License-Identifier: GPL-3.0-or-later
// List of the model's layers, from input to output: add, remove, move, and the fields of each.
// Alt+Up and Alt+Down move the focused layer, Alt+Delete removes it.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/resolve.h"
#include "ui/inspector/layer_row.h"

class QVBoxLayout;

namespace trainyard::ui {

using Layers = std::vector<model::LayerSpec>;

class LayerList : public QWidget {
  Q_OBJECT
 public:
  explicit LayerList(QWidget* parent = nullptr);
  ~LayerList() override;

  void show_layers(const Layers& layers);
  void show_problems(const base::Problems& problems,
                     const QString& path);  // path of the list: "model.layers"
  void show_notes(const std::vector<experiment::Note>& notes, const QString& path);
  void refuse(int layer, const QString& why);
  std::optional<std::pair<int, QString>> refused()
      const;              // layer with refused input, and the reason
  void forget_refused();  // replaces the refused input by the layers' values
  // Focuses the field of a layer, or the layer's kind if the field is not shown.
  void focus_layer(int layer, const QString& field = "kind");
  int count() const { return static_cast<int>(rows_.size()); }
  FieldEditor* editor(int layer, const QString& field) const;
  QString problem_text(int layer) const;

 signals:
  void value_edited(int layer, const QString& field, const base::Json& value);
  // The user added, removed or moved a layer. `what` describes the edit.
  void layers_edited(const QString& what, const Layers& layers);
  void refused_changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void add_row();
  void fill(LayerRow& row, int layer);
  void connect_row(LayerRow& row, int layer);
  void set_refused(LayerRow& row, const QString& why);
  void show_afresh(LayerRow& row, int layer);
  void move(int layer, int by);
  void remove(int layer);
  void append();
  int focused_layer() const;

  Layers layers_;
  std::vector<std::unique_ptr<LayerRow>> rows_;
  QVBoxLayout* column_;
  TintedLabel* list_problem_;
};

}  // namespace trainyard::ui
